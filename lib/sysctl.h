/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SYSCTL_H
#define HOTSET_SYSCTL_H

#include <stdint.h>

/* The number that the kernel has as NAME below /proc/sys; OTHERWISE where it cannot be read. */
uint64_t sysctl_number(const char *name, uint64_t otherwise);

#endif
