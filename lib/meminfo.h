/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MEMINFO_H
#define HOTSET_MEMINFO_H

#include <stdint.h>

/* What the kernel says about the machine's memory. */

#define MEMINFO_PATH    "/proc/meminfo"
#define MEMINFO_UNKNOWN UINT64_MAX /* the kernel does not tell: never 0 */

/* Bytes, or MEMINFO_UNKNOWN. */
struct meminfo {
	uint64_t total;
	uint64_t free;
	uint64_t available; /* MemAvailable, 3.14: counts the cache in use as free */
	uint64_t buffers;   /* page cache of block devices */
	uint64_t cached;    /* page cache of files, and shared memory */
	uint64_t inactive_file;
	uint64_t mlocked;
	uint64_t unevictable;
};

/*
 * Reads PATH, MEMINFO_PATH but in tests. Returns 0, or -1 with what open(2) or
 * read(2) says, or EINVAL where not one field was found.
 */
int meminfo_read(const char *path, struct meminfo *info);

/*
 * How much the kernel keeps free, in bytes: with less, it pushes pages out (the high watermarks
 * of all zones). Reads PATH, MEMINFO_ZONES but in tests; MEMINFO_UNKNOWN where it does not tell.
 */
#define MEMINFO_ZONES "/proc/zoneinfo"
uint64_t meminfo_kept_free(const char *path);

#endif
