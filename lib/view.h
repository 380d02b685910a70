/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VIEW_H
#define HOTSET_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "each.h"
#include "footprint.h"
#include "out.h"
#include "status.h"

/*
 * A way to report on files, one of those that resident has: what is to be found out of each, and
 * what it shows of that. What all of them share is in survey.h, which calls a view, and in
 * report.h, which it writes to. SELF is the view's own; functions may be NULL.
 */
struct view {
	const struct out_table *table; /* of its rows, if it has any */
	const char *most;              /* the field that the first of some rows have most of */
	bool by_page;                  /* mincore(2) only: it looks at pages, one by one */
	size_t result_size;            /* of what look finds: a struct residency, and more */

	/* Before the files, when the report is open; reports what fails. */
	enum status (*begin)(void *self);

	/* In a worker thread, as work of each.h, when the residency is known: what more there is
	 * to a file. -1 with errno. */
	int (*look)(struct each_file *file, void *self);

	/* Frees what it found, as release of each.h. */
	void (*release)(void *result);

	/* Whether a file, or what failed, is to be passed over. */
	bool (*skip)(const struct each_file *file, void *self);

	/* A file, or what failed; SINGLE is what counts of it. */
	void (*file)(const struct each_file *file, const struct footprint *single, void *self);

	/* A folder, as folder_done of each.h. */
	void (*folder)(size_t operand, const char *path, size_t depth, void *self);

	/* An operand that comes to SUM; NULL where it has no row, as nothing could be looked at. */
	void (*operand)(const char *name, const struct footprint *sum, void *self);

	/* All operands, where that is asked for. */
	void (*total)(const char *name, const struct footprint *all, void *self);
};

#endif
