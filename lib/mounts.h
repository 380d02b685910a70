/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MOUNTS_H
#define HOTSET_MOUNTS_H

#include <limits.h>
#include <stdio.h>

/* The mounts of /proc/self/mountinfo, one after the other. */

struct mounts_entry {
	long number; /* of the mount, as /proc/PID/fdinfo has it */
	char *root;  /* the folder of the file system that is mounted */
	char *point; /* where */
	char *type;
	char *source;  /* a device, or whatever it was called when it was mounted */
	char *options; /* of the file system; version 1 cgroups: the controllers */
};

struct mounts {
	FILE *stream;
	char line[2 * PATH_MAX]; /* a longer one (of an overlay) is left out */
	struct mounts_entry entry;
};

/* Reads ROOT/proc/self/mountinfo, ROOT being "" but in tests. */
int mounts_open(const char *root, struct mounts *mounts);

/* The next mount, valid until the call after; NULL at the end. */
struct mounts_entry *mounts_next(struct mounts *mounts);

void mounts_close(struct mounts *mounts);

#endif
