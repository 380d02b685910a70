/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RANGELIST_H
#define HOTSET_RANGELIST_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "list.h"
#include "ranges.h"

/*
 * Parts of files as a list for programs: OFFSET:LENGTH in bytes, a tab, and all that follows
 * until the end of the line, or until NUL, is the name as it is.
 */

/* Whether lines can hold the name PATH; a list that ends them with NUL holds any. */
bool rangelist_holds(const char *path, bool nul);

/*
 * Writes a line for each of the RANGES of PATH; -1 with errno. ESCAPED: a terminal has it,
 * and the name with it, unless lines end with NUL.
 */
int rangelist_write(FILE *stream, const struct ranges *ranges, const char *path, bool nul,
    bool escaped);

/* What is read back: lines that have no range in front are names of whole files. */
struct rangelist {
	struct rangelist_file {
		bool held, whole;
		struct ranges ranges;
		char path[PATH_MAX];
	} files[2]; /* at hand, and the one that has begun behind it */
	unsigned at;
	bool given; /* the one at hand was returned */
};

/* Bytes that a line is shorter than. */
#define RANGELIST_LINE (PATH_MAX + sizeof "18446744073709551615:18446744073709551615")

/*
 * Reads the next file from LIST, as list_next does, with the lines of that path that follow
 * each other; the name is valid until the next call, and so is what rangelist_parts gives.
 * Also -1 with ERANGE, for a range that ends beyond 2^64, and ENOMEM.
 */
int rangelist_next(struct rangelist *reader, struct list *list, const char **name);

/* The parts of the file that was read, *COUNT in its order: at least one, which may be empty.
 * NULL: the whole file. */
const struct num_range *rangelist_parts(const struct rangelist *reader, size_t *count);

#endif
