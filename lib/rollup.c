/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rollup.h"

#include <stdlib.h>

int
rollup_begin(struct rollup *rollup, size_t depth)
{
	rollup->depth = depth;
	rollup->levels = calloc(depth + 1, sizeof *rollup->levels);
	return rollup->levels ? 0 : -1;
}

void
rollup_add(struct rollup *rollup, size_t depth, const struct footprint *part)
{
	if (depth == 0) /* an operand */
		return;
	if (depth > rollup->depth)
		depth = rollup->depth + 1;
	footprint_add(&rollup->levels[depth - 1], part);
}

bool
rollup_leave(struct rollup *rollup, size_t depth, struct footprint *sum)
{
	if (depth > rollup->depth)
		return false;
	*sum = rollup->levels[depth];
	if (depth)
		footprint_add(&rollup->levels[depth - 1], sum);
	rollup->levels[depth] = (struct footprint){ 0 };
	return true;
}
