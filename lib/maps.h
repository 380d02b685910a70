/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MAPS_H
#define HOTSET_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The mappings of files that a /proc/PID/maps lists, one after the other. */

struct maps_entry {
	uint64_t device, inode; /* the device is the superblock's: not always that of stat(2) */
	char *path;             /* as it is written there */
};

struct maps {
	FILE *stream;
	char *line;
	size_t size;
	struct maps_entry entry;
};

/* Reads the file PATH; -1 with errno. */
int maps_open(struct maps *maps, const char *path);

/* The next mapping of a file that has a path, valid until the call after; NULL at the end. */
struct maps_entry *maps_next(struct maps *maps);

void maps_close(struct maps *maps);

/*
 * The kernel writes a newline in a path as \012, and these four characters as themselves. Makes
 * them newlines; false where there are none.
 */
bool maps_unescape(char *path);

#endif
