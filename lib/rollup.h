/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ROLLUP_H
#define HOTSET_ROLLUP_H

#include <stddef.h>

#include "footprint.h"

/*
 * The footprints of folders down to some depth, each with all that is below it, as a walk
 * leaves them. Memory is for one folder a level. A zeroed struct has no level.
 */
struct rollup {
	size_t depth; /* folders deeper than that add to those above */
	struct footprint *levels;
};

/* Begins with DEPTH levels below the operand; -1 with ENOMEM. */
int rollup_begin(struct rollup *rollup, size_t depth);

/* Adds what was found in DEPTH folders (each.h). */
void rollup_add(struct rollup *rollup, size_t depth, const struct footprint *part);

/*
 * All of a folder that is DEPTH folders below the operand has been added: its footprint into
 * *SUM, and into the folder above. False where the folder is too deep to have one.
 */
bool rollup_leave(struct rollup *rollup, size_t depth, struct footprint *sum);

#endif
