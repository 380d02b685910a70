/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ESTIMATE_H
#define HOTSET_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What /proc lets one guess of the page cache, where nothing can be counted: bytes that
 * processes were given by read calls, and bytes that storage was made to read.
 *
 * Not from cgroup files: io.stat counts for whoever is in the cgroup, and there is
 * no figure beside it for what those were given.
 */

enum estimate_figure {
	ESTIMATE_READ,    /* bytes returned by read calls, of any kind of file */
	ESTIMATE_FETCHED, /* bytes that storage was made to read, but for swap */
	ESTIMATE_DIRTIED, /* bytes of pages that went from clean to dirty */
	ESTIMATE_FAULTS,  /* faults on mapped files that waited for storage */
	ESTIMATE_FIGURES,
};

/* Since the first look. */
struct estimate_sums {
	uint64_t of[ESTIMATE_FIGURES];
	unsigned unknown; /* bit i: what figure i was more than at the look before cannot be told,
			   * and is not in its sum; of the first two, both or none */
};

struct estimate;

/* About all processes that can be looked at from here, or with TARGET the one that
 * estimate_target names. ROOT is "" but in tests. NULL and the reason, at most SIZE bytes,
 * where that cannot be had. */
#define ESTIMATE_REASON 400 /* all fit */
struct estimate *estimate_open(const char *root, bool target, char *reason, size_t size);
void estimate_close(struct estimate *estimate);

/* Follows process PID and its children. -1 with ESRCH where there is none, else errno. */
int estimate_target(struct estimate *estimate, pid_t pid);

/* Looks again. The first look has only unknown figures. -1 with errno. */
int estimate_look(struct estimate *estimate, struct estimate_sums *sums);

/* One line for people: what it is made of, and whom it leaves out. */
int estimate_describe(const struct estimate *estimate, char *text, size_t size);

#endif
