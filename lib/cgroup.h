/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CGROUP_H
#define HOTSET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The memory cgroup of the calling process and its ancestors, as far as they
 * are mounted here: their limits bind together, whoever set them.
 */

#define CGROUP_UNKNOWN UINT64_MAX

/* No limit is a state, not a large number; nor is one that we may not read. */
struct cgroup_limit {
	bool set, unknown; /* neither: there is none */
	uint64_t bytes;
};

struct cgroup_level {
	char *path;               /* its folder, as mounted */
	struct cgroup_limit max;  /* memory.max; version 1: memory.limit_in_bytes */
	struct cgroup_limit high; /* memory.high: above it the kernel throttles */
	uint64_t usage;           /* bytes charged, or CGROUP_UNKNOWN */
	uint64_t inactive_file;   /* of these, idle cache, or CGROUP_UNKNOWN */
	uint64_t active_file;     /* of these, cache in use, or CGROUP_UNKNOWN */
	uint64_t unevictable;     /* of these, locked, or CGROUP_UNKNOWN */
};

struct cgroup {
	int version;                 /* 1 or 2 */
	struct cgroup_level *levels; /* our own first */
	size_t count;
};

/*
 * Reads /proc/self/cgroup, /proc/self/mountinfo and the cgroups' own files, all
 * below ROOT ("" but in tests). Returns 0, or -1 with errno: ENOENT where no
 * memory cgroup can be seen, which says nothing of limits above us.
 */
int cgroup_read(const char *root, struct cgroup *cgroup);
void cgroup_free(struct cgroup *cgroup);

/* Whether every limit could be read; a lower one may hide behind one that could not. */
bool cgroup_limits_known(const struct cgroup *cgroup);

/* Whether the usage below each limit is known as well: what room there is. */
bool cgroup_room_known(const struct cgroup *cgroup);

/* The lower of LEVEL's limits, of which one must be set. */
uint64_t cgroup_limit_of(const struct cgroup_level *level);

/* How many bytes more LEVEL, of which one limit must be set, and the usage known, takes until that,
 * its idle cache given up. */
uint64_t cgroup_room_of(const struct cgroup_level *level);

/* The level with the lowest limit, hard or high, and the limit; NULL where nothing limits. */
const struct cgroup_level *cgroup_tightest(const struct cgroup *cgroup, uint64_t *limit);

/*
 * The level that reaches a limit first, and into *ROOM how many bytes more it takes
 * until then, its own idle cache given up. NULL where nothing limits. Only where
 * cgroup_room_known.
 */
const struct cgroup_level *cgroup_least_room(const struct cgroup *cgroup, uint64_t *room);

#endif
