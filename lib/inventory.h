/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INVENTORY_H
#define HOTSET_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"
#include "rollup.h"
#include "view.h"

/* The usual report: how much is in memory of operands, folders and files, and which parts. */
struct inventory {
	struct report *report;
	uint64_t depth; /* of folders that have a row; NUM_UNKNOWN: none has */
	bool map;       /* files are drawn below their rows */

	/* its own */
	struct rollup rollup;
	size_t parts; /* most that a line has room for */
	char *drawn;  /* for the row of an operand that is a file; NULL: none */
};

extern const struct view inventory_view;

#endif
