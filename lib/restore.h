/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RESTORE_H
#define HOTSET_RESTORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "ranges.h"
#include "snapshot.h"
#include "source.h"
#include "status.h"

/*
 * What was in memory when a snapshot was taken, as a source for warm: the hottest parts of all
 * files first. The snapshot is read once for each heat, so that it takes a byte a file, and
 * 16 more at first.
 */

/* What to do with files that are not the same as then. */
enum restore_changed { RESTORE_SKIP, RESTORE_RANGES, RESTORE_WHOLE };

struct restore {
	const char *path;
	enum restore_changed changed;

	/* its own */
	struct snapshot_reader reader;
	uint64_t files;        /* in the snapshot */
	char first[PATH_MAX];  /* of them; "": none */
	int hottest;           /* of its parts */
	unsigned char *states; /* of each file: what it was counted as */
	struct ranges parts;   /* of the file at hand */
	bool broken;           /* no longer what it was when it was checked */
	struct restore_sum {
		uint64_t files, bytes;
	} gone, left, altered; /* left: changed and left out; altered: loaded even so */
};

extern const struct source restore_source;

/* The word for one of them, skip, ranges or whole; -1 with EINVAL. */
int restore_parse_changed(const char *word, enum restore_changed *changed);

/* Opens the snapshot and reads it once: STATUS_DONE where it is whole. Else reports what is wrong,
 * and returns the exit status for it. */
int restore_begin(struct restore *restore);

#endif
