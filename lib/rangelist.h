/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RANGELIST_H
#define HOTSET_RANGELIST_H

#include <stdbool.h>
#include <stdio.h>

#include "ranges.h"

/*
 * Parts of files as a list for programs: OFFSET:LENGTH in bytes, a tab, and all that follows
 * until the end of the line, or until NUL, is the name as it is.
 */

/* Whether lines can hold the name PATH; a list that ends them with NUL holds any. */
bool rangelist_holds(const char *path, bool nul);

/*
 * Writes a line for each of the RANGES of PATH; -1 with errno. A terminal has the name
 * escaped, unless lines end with NUL.
 */
int rangelist_write(FILE *stream, const struct ranges *ranges, const char *path, bool nul);

#endif
