/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FOOTPRINT_H
#define HOTSET_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "each.h"
#include "out.h"
#include "residency.h"

/* What files keep in memory: sums over files, and the row made of them. */

/* Sizes may add up to more than a number holds (num_sum), sparse as files are. */
struct footprint {
	uint64_t files, size, pages, resident;                /* size in bytes */
	uint64_t dirty, writeback, evicted, recently_evicted; /* pages */
	uint64_t unknown, errors;
	uint64_t forbidden, elsewhere; /* of the unknown: why */
	bool sketchy;                  /* dirty and what follows miss some files */
	enum residency_method method;
	bool mixed; /* methods */
};

extern const struct out_table footprint_table;

/* Adds a file of which LENGTH bytes were looked at. */
void footprint_file(struct footprint *sum, uint64_t length, const struct residency *residency);

void footprint_add(struct footprint *sum, const struct footprint *part);

/* What it says of each field, into VALUES (as many as the table has fields). */
void
footprint_values(const struct footprint *footprint, const char *path, struct out_value *values);

#endif
