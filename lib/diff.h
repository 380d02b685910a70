/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DIFF_H
#define HOTSET_DIFF_H

#include "change.h"
#include "compare.h"
#include "report.h"
#include "select.h"
#include "view.h"

/* What came into memory and what went since a snapshot, of operands and files. */
struct diff {
	struct report *report;
	const char *snapshot;
	const struct select *select;

	/* its own */
	struct compare compare;
	struct change current, all;
	size_t operand; /* that current is of */
};

extern const struct view diff_view;

#endif
