/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EVICTED_H
#define HOTSET_EVICTED_H

#include <stdbool.h>
#include <stdint.h>

#include "each.h"
#include "evict.h"
#include "out.h"
#include "outcome.h"
#include "report.h"

/* What warm --evict did with a file, an operand or all: sums, and the row made of them. */

/* What a worker leaves in each_file.result. */
struct evicted_file {
	struct evict evict;
	uint64_t start, end; /* stop_now; end 0: never started */
};

struct evicted {
	struct outcome outcome;
	uint64_t left; /* files that were skipped, as others use them or may do so */

	/* Bytes, of the files that could be measured. */
	uint64_t evicted, left_bytes;
	uint64_t stayed[STAYED_REASONS];
	bool dirt_hidden; /* of some it is not known what is dirty */
};

extern const struct out_table evicted_table;

void evicted_file(struct evicted *evicted, const struct each_file *file);
void evicted_add(struct evicted *evicted, const struct evicted *more);

/* Bytes that would go, after a dry run. */
uint64_t evicted_planned(const struct evicted *evicted);

/* Puts the row of PATH. */
void evicted_put(const struct evicted *evicted, const char *path, struct report *report);

#endif
