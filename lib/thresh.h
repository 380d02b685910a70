/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_THRESH_H
#define HOTSET_THRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

/*
 * Thresholds of a ratio, and the verdict. Both are whole hundredths of a percent,
 * as reports show them, and compared as integers: a figure on the screen never
 * contradicts the verdict beside it.
 */

#define THRESH_WHOLE 10000 /* 100% */

struct thresh_limit {
	bool set;
	unsigned hundredths;
};

/* A limit as people and monitoring systems write it: 90, 90%, 90.5 or 90:, alarm
 * below it. -1 with EINVAL (not such a limit: another kind of range, too), ERANGE
 * (above 100) or EDOM (more than two decimals). */
int thresh_parse(const char *text, struct thresh_limit *limit);

/* "90", "90.5" or "90.25" into TEXT; returns TEXT. */
#define THRESH_TEXT 8
char *thresh_text(unsigned hundredths, char text[static THRESH_TEXT]);

struct thresh {
	struct thresh_limit warning, critical;
};

/* Whether critical is above warning, so that nothing could ever be a warning. */
bool thresh_crossed(const struct thresh *thresh);

/* The verdict on PART of WHOLE, from the exact figures; unknown where WHOLE is 0. */
enum status thresh_verdict(const struct thresh *thresh, uint64_t part, uint64_t whole);

/* A ratio that is not known exactly. */
struct thresh_span {
	uint64_t least, most, whole; /* between LEAST and MOST of WHOLE */
};

/*
 * The verdict that is certain for all of the span: an alarm is as bad as it is at best, and OK
 * what is so at worst. Unknown where it might be OK, or not.
 */
enum status thresh_certain(const struct thresh *thresh, const struct thresh_span *span);

/* The limit that a verdict of STATUS is about; NULL where it is none. */
const struct thresh_limit *thresh_broken(const struct thresh *thresh, enum status status);

/*
 * PART of WHOLE (not 0) in hundredths of a percent as it may be shown: as num_portion
 * has it, but down where that would reach a limit that it is below of.
 */
unsigned thresh_figure(const struct thresh *thresh, uint64_t part, uint64_t whole);

#endif
