/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INTERVAL_H
#define HOTSET_INTERVAL_H

#include <stdint.h>

#include "out.h"
#include "probe.h"

/* One interval of hitratio: what was counted between two moments, and the row made of it. */

struct moment {
	uint64_t at; /* CLOCK_MONOTONIC, ns */
	struct counters sums;
	uint64_t waste, lost, pending; /* of the whole machine: evictions are nobody's */
};

extern const struct out_table interval_table;
extern const struct out_table interval_table_timed; /* text with the time in front */

/* Now, with the sums of SCOPE. -1 with errno where they cannot be read. */
int interval_moment(struct probe *probe, enum scope scope, struct moment *moment);

/* Adds the row of the interval to OUT, with what /proc/meminfo says now; as out_row. */
int
interval_row(struct out *out, const struct moment *from, const struct moment *to, const char *tier);

#endif
