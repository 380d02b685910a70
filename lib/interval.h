/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INTERVAL_H
#define HOTSET_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "meter.h"
#include "out.h"

/* One interval of hitratio: what was counted between two moments, and the row made of it. */

struct moment {
	uint64_t at;                   /* CLOCK_MONOTONIC, ns */
	struct counters sums;          /* this and the next line: counted */
	uint64_t waste, lost, pending; /* of the whole machine: evictions are nobody's */
	struct estimate_sums estimate; /* not counted */
};

/* The fields of a row: [1] of an estimate, which has more; [][1] text has the time in front.
 * [1][0] is all that --help needs. */
extern const struct out_table interval_tables[2][2];

/* Now. -1 with errno where the figures cannot be read. */
int interval_moment(struct meter *meter, struct moment *moment);

/* Adds the row of the interval to OUT, with what /proc/meminfo says now; as out_row. */
int interval_row(struct out *out, const struct meter *meter, const struct moment *from,
    const struct moment *to);

#endif
