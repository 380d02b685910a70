/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LEFT_H
#define HOTSET_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "each.h"
#include "inuse.h"

/* The files that were left in memory as others use them, or may do so: the first of them are
 * told one by one at the end, after a single look at all processes. */

#define LEFT_TOLD 32

struct left {
	bool dry_run; /* they only would be left */
	uint64_t count;
	struct left_file {
		char *path;
		uint64_t device, inode;
		enum inuse why;
	} told[LEFT_TOLD];
};

/* Notes one; -1 with ENOMEM. */
int left_add(struct left *left, const struct each_file *file, enum inuse why);

/* Reports them, and forgets them. */
void left_explain(struct left *left);

#endif
