/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_STAYED_H
#define HOTSET_STAYED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "frames.h"

/*
 * Why pages that were to leave memory are still there. Root is told by /proc/kpageflags and
 * /proc/kpagecount; others know of tmpfs, of pages that are asked for in part, and, where
 * cachestat tells the truth, of dirty ones. Nothing is guessed.
 */

enum stayed {
	STAYED_UNKNOWN, /* held by something else, or not for us to know */
	STAYED_TMPFS,   /* tmpfs or ramfs: memory is where the file is */
	STAYED_EDGE,    /* the page, or its large folio, holds bytes that nobody asked for */
	STAYED_LOCKED,  /* mlock(2) */
	STAYED_MAPPED,  /* by a process */
	STAYED_DIRTY,   /* or under writeback */
	STAYED_REASONS,
	STAYED_NOTHING = STAYED_REASONS, /* foreseen only: nothing that can be seen keeps it */
};

struct stayed_tools {
	struct frames frames;
	int counts;           /* descriptor */
	pthread_mutex_t lock; /* a look maps pages: two at a time would see each other's */
};

void stayed_begin(struct stayed_tools *tools);
void stayed_end(struct stayed_tools *tools);

/* What was to leave. */
struct stayed_asked {
	int fd;
	const struct stat *status;
	uint64_t offset, end; /* bytes; UINT64_MAX: all that there is */
	bool tmpfs;
	bool foresee; /* nothing was done yet: what would go is STAYED_NOTHING, or where it has to
			 be written back first STAYED_DIRTY */
	bool unused;  /* then: it is known that nobody else has the file open or mapped */
};

/* Whether the file lives in memory: see STAYED_TMPFS. */
bool stayed_in_tmpfs(int fd, const struct stat *status);

/*
 * Fills in REASONS for those of COUNT pages from page FIRST on that are in memory (bit 0 of
 * IN). Returns whether it could be told which are dirty. Thread-safe.
 */
bool stayed_explain(struct stayed_tools *tools, const struct stayed_asked *asked, uint64_t first,
    size_t count, const unsigned char *in, unsigned char *reasons);

#endif
