/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BATCH_H
#define HOTSET_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "each.h"
#include "folder.h"
#include "pool.h"
#include "walk.h"

/*
 * What the walk found, some items at a time: a job of the pool. It owns their names,
 * and holds the folders that they are opened in.
 */

#define BATCH_ITEMS   64
#define BATCH_FOLDERS 4     /* so that few are open at a time */
#define BATCH_NAMES   32768 /* bytes, but for a longer one */

#define BATCH_PARTS 2048 /* parts of files, but for those of one that has more */

/* NAMED: nobody has looked yet what it is. HELD: found, and open already; its folder is the file
 * itself. */
enum batch_kind { /* those that are opened first */
	BATCH_FOUND,
	BATCH_NAMED,
	BATCH_HELD,
	BATCH_FAILED,
	BATCH_FOLDER_DONE,
	BATCH_OPERAND_DONE
};

struct batch_item {
	struct each_file file;
	enum batch_kind kind;
	size_t path, name;     /* where they start in the batch's names */
	size_t part;           /* where its own start in the batch's parts */
	struct folder *folder; /* that the name is relative to */
	bool operand;          /* named by the user, not found below a folder */
	bool finished;         /* to be reported */
};

struct batch {
	struct pool_job job;
	struct batch_item items[BATCH_ITEMS];
	char *results; /* of each item, of the size that batch_close is told */
	char *notes;   /* of each item, of note_size */
	size_t note_size;
	struct num_range *parts;
	size_t parts_count, parts_size;
	char *names;
	size_t names_length, names_size;
	struct folder *folders[BATCH_FOLDERS];
	size_t folders_count;
};

/* Whether there is no room for one more item, in this folder. */
bool batch_is_full(const struct batch *batch, const struct folder *folder);

/* Adds one; -1 with ENOMEM. */
int batch_add(struct batch *batch, enum batch_kind kind, const struct walk_entry *entry,
    size_t number, bool operand);

/* No more will be added: the pointers of each file are set. */
void batch_close(struct batch *batch, size_t result_size);

/* Empties it, for the next use, or for good. */
void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);

#endif
