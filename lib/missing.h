/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MISSING_H
#define HOTSET_MISSING_H

#include <stdbool.h>

#include "report.h"
#include "view.h"

/* In place of rows, the list of what is missing in memory (rangelist.h). */
struct missing {
	struct report *report;
	bool nul; /* lines end with NUL */
};

extern const struct view missing_view;

#endif
