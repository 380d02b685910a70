/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VMLINUX_H
#define HOTSET_VMLINUX_H

#include <stdbool.h>

/* Whether the running kernel has a function, a variable or a type called NAME, of one of the
 * BTF_KINDs; how it does things may show by no more. To be asked once: its types are many. */
bool vmlinux_has(const char *name, unsigned kind);

#endif
