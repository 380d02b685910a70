/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VMSTAT_H
#define HOTSET_VMSTAT_H

#include <stdint.h>

/* What the kernel has counted for the whole machine since it was started. */

#define VMSTAT_UNKNOWN UINT64_MAX /* the kernel does not tell: never 0 */

struct vmstat {
	uint64_t pgpgin;       /* KiB that block devices were made to read, by whatever */
	uint64_t pswpin;       /* pages of these that came from swap */
	uint64_t pgmajfault;   /* faults that waited for a block device */
	uint64_t nr_dirtied;   /* pages of files that went from clean to dirty */
	uint64_t pgsteal_file; /* pages of files reclaimed where memory was short, in cgroups too
				* (5.9); not what DAMON, fadvise or madvise took */
	uint64_t oom_kill;     /* processes killed for want of memory, in cgroups too (4.13) */
};

/* Reads ROOT/proc/vmstat ("" but in tests). Returns 0, or -1 with errno. */
int vmstat_read(const char *root, struct vmstat *vmstat);

#endif
