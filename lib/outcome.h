/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OUTCOME_H
#define HOTSET_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "each.h"
#include "residency.h"
#include "status.h"

/* What is the same of all that warm does with a file, an operand or all, whether it loads or
 * evicts: how many files, what was in memory before and what is afterwards, and the time taken. */

struct outcome {
	uint64_t files;             /* that could be opened */
	uint64_t failed;            /* could not be opened, worked on or measured */
	uint64_t hidden, elsewhere; /* of these: we may not know; not in the page cache */

	/* Bytes, of the files that could be measured. */
	uint64_t size, already, resident;
	bool beyond; /* a sum in bytes is more than 64 bits hold: none is known */

	uint64_t start, end; /* stop_now; end 0: nothing happened */
};

/* That of FILE, which was worked on from START to END (0: never); already and resident are the
 * caller's to fill in where this returns true: where they are known. */
bool outcome_file(struct outcome *outcome, const struct each_file *file, enum residency_why why,
    uint64_t start, uint64_t end);

void outcome_add(struct outcome *outcome, const struct outcome *more);

/* Adds MORE bytes to a sum that belongs to OUTCOME. */
void outcome_bytes(struct outcome *outcome, uint64_t *sum, uint64_t more);

/* Whether sums in bytes tell something: where no file could be measured, they are not 0. */
bool outcome_known(const struct outcome *outcome);

/* At the end of a run that has come to STATUS: tells where its time was over, and returns the exit
 * status. WORKED: it could do something with some operand. */
int outcome_end(enum status status, bool worked);

/* The time taken; 0 where nothing happened. */
double outcome_seconds(const struct outcome *outcome);

#endif
