/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BUDGET_H
#define HOTSET_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup.h"
#include "num.h"

/* How much memory there is for us, of the machine and within the cgroups above us. */

#define BUDGET_UNKNOWN UINT64_MAX

struct budget {
	uint64_t whole;          /* RAM, or the lowest cgroup limit: what a share is a share of */
	const char *whole_group; /* the cgroup's folder; NULL: RAM */

	/* What may be brought in without pushing out what others use: free memory and
	 * idle cache (not all of MemAvailable, which counts cache in use as free),
	 * within the room below each cgroup limit, less a reserve. */
	uint64_t room;
	uint64_t room_limit;    /* the limit that sets it: RAM or the cgroup's */
	const char *room_group; /* the cgroup's folder; NULL: RAM */

	/* RAM, and each cgroup that has a limit. */
	struct budget_level {
		const char *group; /* the cgroup's folder; NULL: RAM */
		uint64_t whole;
		uint64_t locked; /* of that, what cannot be reclaimed already */
		uint64_t spare;  /* what is available, less what the valve keeps so */
		uint64_t cache;  /* the part of that which is cache, and is not once it is pinned */
	} * levels;
	size_t level_count;

	struct cgroup cgroup; /* whose folders these are */
	char *unseen;         /* a memory cgroup that we are in, and cannot look at; NULL: none */
};

/*
 * Looks at the machine below ROOT ("" but in tests). A figure that the kernel does
 * not tell is BUDGET_UNKNOWN. Returns 0, or -1 with ENOMEM.
 */
int budget_read(const char *root, struct budget *budget);
void budget_free(struct budget *budget);

/* No share given: the initial value of an option. */
#define BUDGET_NO_SHARE                                                                            \
	{                                                                                          \
		.percent = -1, .bytes = UINT64_MAX                                                 \
	}
bool budget_given(const struct num_share *share);

/* Into *BYTES what SHARE is of the whole, or what there is room for where none is
 * given; -1 with ENODATA where that is unknown. */
int budget_allow(const struct budget *budget, const struct num_share *share, uint64_t *bytes);

/*
 * Into *BYTES what SHARE lets us pin: of each level its part of the whole, less what is locked
 * there by others (OURS is not); of bytes, so many, but no more than what is not locked. Returns
 * the level that says so, NULL where that is SHARE itself.
 */
const struct budget_level *budget_pinnable(const struct budget *budget,
    const struct num_share *share, uint64_t ours, uint64_t *bytes);

/* Of what is locked at LEVEL, what is not OURS; 0 where that is not known. */
uint64_t budget_locked(const struct budget_level *level, uint64_t ours);

/*
 * "of this machine's memory, 3.8G", or "of the limit of memory cgroup GROUP, 64M":
 * for messages, into TEXT; returns TEXT.
 */
#define BUDGET_WORDS 512
char *budget_words(const char *group, uint64_t limit, char text[static BUDGET_WORDS]);

#endif
