/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PSI_H
#define HOTSET_PSI_H

#include <stdint.h>

/* For how long tasks waited for memory: pressure stall information, Linux 4.20. */

#define PSI_PATH       "/proc/pressure/memory"
#define PSI_GROUP_FILE "memory.pressure" /* of a cgroup of version 2 */
#define PSI_UNKNOWN    UINT64_MAX

/* Microseconds since the start of the machine or of the cgroup, or PSI_UNKNOWN. */
struct psi {
	uint64_t some; /* in which one task waited at least */
	uint64_t full; /* in which no other one ran */
};

/*
 * Reads PATH. Returns 0, or -1 with errno: ENOENT where the kernel has none (or no such
 * cgroup), EOPNOTSUPP where it is turned off (psi=1 at boot turns it on), EINVAL where
 * it is no such file.
 */
int psi_read(const char *path, struct psi *psi);

#endif
