/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PREFLIGHT_H
#define HOTSET_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "keeper.h"
#include "num.h"

/*
 * Whether all that is asked for may be pinned: looked at before anything is, so that it
 * is refused and not tried where it could take the host down.
 */
struct preflight {
	uint64_t allowed; /* bytes, of all together */
	bool fits;
	char *words;    /* for a message: every limit that is in the way, or what there is */
	char *detail;   /* a fact beside, NULL: none */
	char *shortage; /* why not all files can be pinned, though it fits; NULL: they can */
};

/*
 * Looks, after keeper_survey. MAX is what of the memory may be pinned (BUDGET_NO_SHARE: a
 * quarter); OURS are bytes of what is locked already that this process will have let go by
 * then. Returns 0, or -1 where that cannot be told, which is said.
 */
int preflight_look(struct preflight *preflight, struct keeper *keeper, struct num_share max,
    uint64_t ours);
void preflight_free(struct preflight *preflight);

#endif
