/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PAYERS_H
#define HOTSET_PAYERS_H

#include "cgroupnames.h"
#include "charges.h"
#include "owners.h"
#include "report.h"
#include "view.h"

/* Which memory cgroups pay for what is in memory of operands and files. */
struct payers {
	struct report *report;

	/* its own */
	struct charges charges;
	struct cgroupnames groups;
	struct owners current, all;
};

extern const struct view payers_view;

#endif
