/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SURVEY_H
#define HOTSET_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "footprint.h"
#include "openfiles.h"
#include "report.h"
#include "select.h"
#include "status.h"
#include "view.h"

/* Looks at all selected files, and reports on them in one way: what is the same for all ways. */
struct survey {
	const struct view *view;
	void *self; /* the view's */
	const struct select *select;
	struct report *report;
	struct openfiles *openfiles; /* these are the operands; NULL: they are paths */
	double min;     /* percent of each operand that shall be in memory; below 0: none */
	bool in_order;  /* as each.h has it */
	bool by_folder; /* the view is told of folders */

	/* its own */
	size_t operand; /* that current is of */
	struct footprint current, all;
	enum status status; /* of conditions */
	bool worked;        /* some operand did */
	bool repeated;      /* current lacks files that are in another operand's */
};

/* Returns the exit status. */
int survey_run(struct survey *survey);

#endif
