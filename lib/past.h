/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PAST_H
#define HOTSET_PAST_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"

/* A snapshot as a whole, in memory. */

struct past_file {
	struct snapshot_file then;
	bool seen;              /* for who looks them all up */
	struct past_file *last; /* that was read before it */
	char path[];
};

struct past {
	struct past_file **files; /* by path */
	size_t count;
	struct past_file *last; /* read; all of them hang together */
};

/* Takes all that READER has, which snapshot_open opened, into a zeroed PAST: of a path that comes
 * twice, what comes last. -1 as snapshot_next. */
int past_load(struct past *past, struct snapshot_reader *reader);

/* The file at PATH, as fullpath.h has it; NULL where the snapshot has none. */
struct past_file *past_find(const struct past *past, const char *path);

/* The files below FOLDER: where they begin, and how many follow each other. */
struct past_file **past_below(const struct past *past, const char *folder, size_t *count);

#endif
