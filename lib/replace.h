/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REPLACE_H
#define HOTSET_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A file whose new content appears whole or not at all: it is written to a temporary
 * file in the same folder, which takes the file's place after an fsync(2), with its mode
 * and, as far as we may, its owner. What is not a
 * regular file (/dev/null, a pipe) is written in place: a regular file must not replace it. So is
 * what has no name, which /dev/fd leads to.
 */
struct replace {
	char *path;      /* where a symbolic link points: the link itself stays */
	bool nameless;   /* there is no such path */
	char *temporary; /* NULL: none, or written in place */
	FILE *stream;    /* NULL: not begun */
	int fd;          /* what it writes to: that in place waits for who reads (patient.h) */
};

/* Looks PATH up; -1 with what realpath(3) says, or ENOMEM. */
int replace_init(struct replace *replace, const char *path);

/* Opens replace->stream; -1 with what open(2) says: ENXIO for a FIFO that nobody reads. */
int replace_begin(struct replace *replace);

/* Ends the content and puts it in place. -1 with errno where any of it failed: then the
 * file is as it was. */
int replace_commit(struct replace *replace);

/* Frees what is held; content that was begun is gone. */
void replace_drop(struct replace *replace);

#endif
