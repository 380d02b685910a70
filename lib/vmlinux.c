/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmlinux.h"

#include <bpf/btf.h>

bool
vmlinux_has(const char *name, unsigned kind)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, name, kind) > 0;

	btf__free(btf);
	return found;
}
