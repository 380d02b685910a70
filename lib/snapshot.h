/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SNAPSHOT_H
#define HOTSET_SNAPSHOT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "replace.h"

/*
 * Which parts of files were in memory at some time, in a file of text: resident(1) has the
 * format. A path is from the root on and shorter than PATH_MAX, so that it can be opened.
 */

/* A part of a file, in bytes. */
struct snapshot_range {
	uint64_t offset, length;
	int heat; /* larger is hotter; SNAPSHOT_NO_HEAT: not known */
};
#define SNAPSHOT_NO_HEAT (-1)

/* Parts from the file's start on, which do not overlap. A zeroed struct has none. */
struct snapshot_ranges {
	struct snapshot_range *list;
	size_t count, size;
};

/* Adds one behind the others, to the last one where it only goes on with that; -1 with
 * ENOMEM. */
int snapshot_ranges_add(struct snapshot_ranges *ranges, const struct snapshot_range *range);

void snapshot_ranges_free(struct snapshot_ranges *ranges);

/* A file as it was then: the device numbers may be others after a boot. */
struct snapshot_file {
	const char *path;
	uint64_t device, inode, size;
	int64_t seconds; /* since 1970, when it was modified, and below 0 before */
	uint32_t nanoseconds;
	struct snapshot_ranges ranges;
};

/* What is the same as long as the file has not been written or replaced. */
void snapshot_identify(struct snapshot_file *file, const struct stat *status);

struct snapshot_writer {
	struct replace to;
	uint64_t files, bytes; /* so far */
	int error;             /* errno of what failed */
};

/* Begins a snapshot that will take the place of PATH; -1 with errno as replace.h. */
int snapshot_create(struct snapshot_writer *writer, const char *path);

/* Adds FILE; -1 with ENAMETOOLONG where its path is too long, which leaves the snapshot as
 * good as before. What fails in writing is told at the end. */
int snapshot_add(struct snapshot_writer *writer, const struct snapshot_file *file);

/* Ends the snapshot and puts it in place; -1 with errno: then what was there still is. */
int snapshot_commit(struct snapshot_writer *writer);

/* Frees what is held; a snapshot that was not committed is gone. */
void snapshot_drop(struct snapshot_writer *writer);

/* Every byte of a path may take four. */
#define SNAPSHOT_LINE (4 * PATH_MAX + 256)

struct snapshot_reader {
	struct snapshot_file file; /* the last one read, until the next is */
	const char *wrong;         /* what is wrong with the snapshot, NULL: nothing */
	uint64_t number;           /* of the line that it is wrong in */

	FILE *stream;
	uint64_t files, bytes;    /* so far */
	char line[SNAPSHOT_LINE]; /* the one at hand; what follows a file is read before it ends */
	char path[PATH_MAX];
};

/* Opens a snapshot, and reads its first line; -1 as snapshot_next. */
int snapshot_open(struct snapshot_reader *reader, const char *path);

/* Begins anew, with the same snapshot even where another has its name by now; -1 as
 * snapshot_next, or with ESPIPE where it can be read only once. */
int snapshot_again(struct snapshot_reader *reader);

/*
 * Reads the next file: 1, 0 behind the last one of a whole snapshot, -1 with errno: EBADMSG
 * where it is none, for what reader->wrong says. What was read before is to be trusted only
 * as far as the rest need not be.
 */
int snapshot_next(struct snapshot_reader *reader);

void snapshot_close(struct snapshot_reader *reader);

/* Reports through diag what snapshot_open or snapshot_next failed with on PATH. */
void snapshot_explain(const struct snapshot_reader *reader, const char *path);

#endif
