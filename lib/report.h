/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REPORT_H
#define HOTSET_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns.h"
#include "opts.h"
#include "out.h"
#include "progress.h"
#include "rows.h"
#include "save.h"
#include "status.h"

/*
 * What resident and warm write: which operands and files have a row, in which order the rows come, with
 * which fields; and beside it a snapshot. What fails in writing is kept until the end.
 */

/* How the rows are chosen. */
struct report_choice {
	const char *sort, *columns; /* NULL: not given */
	uint64_t rows;              /* 0: all */
	bool labels;                /* the columns have those of prom in any case */
};

struct report {
	/* what was asked for by name */
	char **operands;
	size_t count;
	const char *list;     /* all that it names is one more; NULL: no list */
	const char *together; /* of the one row that all operands have; NULL: each has its own */
	bool each_file;       /* has a row */
	bool sorted;          /* rows that are not of operands come last, in an order */

	struct out out;
	struct save save; /* the snapshot; none where it is zeroed */
	struct progress progress;

	/* its own */
	const struct out_table *table;
	struct columns columns;
	struct rows rows;
	int error; /* errno of what failed first */
};

/*
 * Makes the choice among rows of TABLE, with those that have most of the field MOST first where
 * none is named. Reports a mistake, and returns STATUS_UNKNOWN for it, else STATUS_DONE.
 */
enum status report_choose(struct report *report, const struct report_choice *choice,
    const struct out_table *table, const char *most);

/* Opens what COMMON says, and the snapshot SAVE (NULL: none); reports what fails, and returns the
 * exit status for it, else STATUS_DONE. */
int report_open(struct report *report, const struct opts_common *common, const char *save);

const char *report_operand(const struct report *report, size_t operand);

/* Whether all operands together have a row: for people, as programs add up themselves. */
bool report_has_total(const struct report *report);

/* Whether PATH, found below an operand, is the operand itself. */
bool report_is_operand(const struct report *report, size_t operand, const char *path);

/* Whether a file has a row of its own; one that is an operand gets its row anyway. */
bool report_has_row(const struct report *report, size_t operand, const char *path);

/* Keeps the errno of what returned RESULT, if that is below 0. */
void report_keep(struct report *report, int result);

/* Whether all is well; then a progress line is out of the way, to write to out. */
bool report_ready(struct report *report);

/* Puts the row of an operand, or of all, with a line of text below it (NULL: none). */
void report_put(struct report *report, const struct out_value *values, const char *below);

/* The same for a file or folder below an operand, when its turn comes. */
void report_add(struct report *report, const struct out_value *values, const char *below);

/* Ends it, and a snapshot; what is not WHOLE leaves files as they were. Reports what failed,
 * and returns the exit status for it: STATUS_DONE, where nothing did. */
int report_end(struct report *report, bool whole);

/* Frees what is held; what was not ended is gone. */
void report_close(struct report *report);

#endif
