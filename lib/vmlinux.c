/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmlinux.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>

bool
vmlinux_has(const char *name, unsigned kind)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, name, kind) > 0;

	btf__free(btf);
	return found;
}

/*
 * The linker has libbpf call this instead of its own (--wrap), where it goes over the modules'
 * types for what vmlinux lacks. Nothing that we look for is ever in a module, and to ask needs
 * CAP_SYS_ADMIN on every kernel: without it libbpf gives up, rather than do without modules.
 */
int __wrap_bpf_btf_get_next_id(__u32 start, __u32 *next);

int
__wrap_bpf_btf_get_next_id(__u32 start, __u32 *next)
{
	(void)start;
	(void)next;
	errno = ENOENT; /* no more of them */
	return -ENOENT;
}
