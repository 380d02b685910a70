/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WALK_H
#define HOTSET_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "folder.h"
#include "links.h"
#include "select.h"

/*
 * Finds the files below an operand, in one thread. Folders are opened relative to
 * their parents, so that a path may be longer than PATH_MAX; the deepest WALK_OPEN
 * levels stay open, those above are opened again on the way back. Memory and open
 * files are bounded but for a few bytes a level; under select->follow the set of
 * the folders entered (each is entered once there, which also ends loops); and in_order the
 * names in all folders from the operand down to the one at hand.
 */

#define WALK_OPEN 16

/* What was found: a file to open, or what failed. */
struct walk_entry {
	const char *path;      /* as the user would write it */
	size_t length, name;   /* of the path; where in it the name starts */
	struct folder *folder; /* that the name is relative to */
	size_t depth;          /* folders between the operand and it, the operand's too */
	int error;             /* ESPIPE: an operand that is no file, folder or block device */

	/* Of what each_named is told: as in each_file. */
	const struct num_range *parts;
	size_t part_count;
	const void *note;
};

struct walk {
	const struct select *select;
	bool in_order; /* of the names in each folder */
	bool by_place; /* as files lie on the disk, roughly: of so many names as 8 MiB hold, in
			* the first WALK_OPEN levels */
	void *argument;

	/* Takes an entry. */
	void (*found)(const struct walk_entry *entry, void *argument);

	/* A folder is about to be opened or read, which may take long; false ends the walk. */
	bool (*go_on)(void *argument);

	/* A folder has been walked, with all below it; DEPTH as of an entry. May be NULL. */
	void (*left)(const char *path, size_t length, size_t depth, void *argument);

	/* the walk's own; zeroed at first */
	struct links entered;
	char *path;
	size_t path_size;
	struct walk_level *levels;
	size_t depth, levels_size;
	size_t placed; /* bytes of entries in an order, of all levels */
	char *buffers;
};

/* Walks one operand; what fails is found as an entry. */
void walk_operand(struct walk *walk, const char *operand);

void walk_free(struct walk *walk);

#endif
