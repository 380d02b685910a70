/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SOURCE_H
#define HOTSET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "each.h"
#include "status.h"
#include "tally.h"

/*
 * A way to files, and to their order, other than operands and lists: what warm loads is found
 * in the one operand that there is then. SELF is the source's own, and lasts until the process
 * ends: a thread that hangs in the kernel may come back to it. Functions may be NULL but for find.
 */
struct source {
	size_t note_size; /* of what find has on each file */
	bool only_files;  /* as in each.h */

	/* As find of each.h, of the operand. */
	void (*find)(struct each_run *run, void *self);

	/* In a worker: whether a file is what is wanted, and which parts of it; sets file->error
	 * where it is not to be loaded. */
	void (*look)(struct each_file *file, void *self);

	/* A file, or what failed, in order: takes from SINGLE, what it is about to count as, what
	 * has been counted before. False: its error is not to be told, because it was, or
	 * will be by end. */
	bool (*count)(const struct each_file *file, struct tally *single, void *self);

	/* After them all: says what there is to say, and how it went. */
	enum status (*end)(void *self);
};

#endif
