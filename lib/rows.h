/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ROWS_H
#define HOTSET_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "out.h"

/*
 * Rows kept back until all are there, to be reported in the order of one field: numbers
 * from the largest on, strings from the first on, what is unknown last; where two are equal
 * in the order they came. With a limit only so many are kept at a time.
 */
struct rows {
	const struct out_table *table;
	int field;
	uint64_t limit; /* rows to keep; 0: all */

	/* its own; zeroed at first */
	struct rows_row **rows; /* a heap while there is a limit, the last in order on top */
	size_t count, size;
	uint64_t added;
};

/*
 * The field of TABLE that KEY names, as it is called or by what comes before its unit
 * ("dirty": dirty_bytes); -1 where there is none.
 */
int rows_field(const struct out_table *table, const char *key);

/* Adds a copy of VALUES, and of a line of text to go below that row, NULL for none; -1 with
 * ENOMEM. */
int rows_add(struct rows *rows, const struct out_value *values, const char *below);

/* Moves all rows to OUT, in order; as out_row. */
int rows_report(struct rows *rows, struct out *out);

void rows_free(struct rows *rows);

#endif
