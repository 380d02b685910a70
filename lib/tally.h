/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TALLY_H
#define HOTSET_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "each.h"
#include "out.h"
#include "outcome.h"
#include "preload.h"
#include "report.h"

/* What warm did with a file, an operand or all: sums, and the row made of them. */

/* What a worker leaves in each_file.result. */
struct tally_file {
	struct preload preload;
	uint64_t start, end; /* stop_now; end 0: never started */
};

struct tally {
	struct outcome outcome;
	uint64_t skipped_files;
	uint64_t short_files; /* of which parts were asked for that lie behind the end */

	/* Bytes, of the files that could be measured. */
	uint64_t missing, read;
	uint64_t expected; /* in memory, if all that is not skipped comes in */
	uint64_t holes;    /* of tmpfs, which are not cached */
	uint64_t cut;      /* of files that became shorter while they were read */
	uint64_t skipped;  /* of any file */

	bool repeated; /* it lacks files that are in another operand's */
};

extern const struct out_table tally_table;

void tally_file(struct tally *tally, const struct each_file *file);
void tally_add(struct tally *tally, const struct tally *more);

/* Puts the row of PATH. */
void tally_put(const struct tally *tally, const char *path, struct report *report);

#endif
