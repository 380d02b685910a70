/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EVICT_H
#define HOTSET_EVICT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "inuse.h"
#include "residency.h"
#include "stayed.h"
#include "twins.h"

/* Drops a range of a file from the page cache, and measures what is there then. A dry run tells
 * what would stay: of what is in, that is stayed and left_bytes, but not what is dirty, which
 * would go once it is written back. */

struct evict {
	enum residency_why why;          /* RESIDENCY_KNOWN: the next five are measured */
	uint64_t already;                /* bytes that were in */
	uint64_t evicted;                /* of these, no longer in */
	uint64_t resident;               /* bytes that are in, whenever they came */
	uint64_t stayed[STAYED_REASONS]; /* of these, by reason, but for a file that is left */
	uint64_t left_bytes;             /* of these, in a file that is left */
	enum inuse left;                 /* INUSE_FREE: it was not */
	bool dirt_hidden;                /* of a dry run: what is dirty is not for us to know */
	int error;      /* errno of what failed in writing back or dropping, or 0 */
	int unmeasured; /* errno where why is RESIDENCY_ERROR */
};

/* How, for all files. */
struct evict_how {
	bool force;   /* files that others use as well */
	bool dry_run; /* drops nothing, nor writes it back */
	bool once;    /* a file of several names is reported for one of them: see each_run */
	bool follow;
	unsigned workers;
};

/* What all files share. */
struct evict_tools {
	struct evict_how how;
	struct stayed_tools stayed;
	struct inuse_tools inuse;
	struct twins twins; /* any name of a file may be the one that is reported */
};

/* -1 with ENOMEM. */
int evict_begin(struct evict_tools *tools, const struct evict_how *how);
void evict_end(struct evict_tools *tools);

/*
 * LENGTH bytes from OFFSET of FD, which is open for reading, and afterwards of no use but to be
 * closed. What is dirty is written back first; where that fails nothing more is dropped. Ends
 * early where stop_asked. Thread-safe.
 */
void evict_range(struct evict_tools *tools, int fd, const struct stat *status, uint64_t offset,
    uint64_t length, struct evict *result);

#endif
