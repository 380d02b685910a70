/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EACH_RUN_H
#define HOTSET_EACH_RUN_H

#include <stdatomic.h>

#include "batch.h"
#include "each.h"
#include "links.h"
#include "list.h"
#include "pool.h"
#include "twins.h"
#include "walk.h"

/* What each.c, which walks and reports, shares with each_work.c, which opens and works. */

/* Files of one batch that a worker has opened, to work on them together. */
struct tray {
	struct each_file *files[EACH_TOGETHER];
	size_t count;
};
_Static_assert(EACH_TOGETHER >= BATCH_ITEMS, "a tray holds what a batch has");

struct each_run {
	struct each each; /* ours: a thread that hangs may outlive the caller's */
	char **operands;
	size_t count, operand; /* how many; the one at hand */
	struct list list;
	struct walk walk;
	struct links seen;
	struct pool pool;
	struct batch *batches; /* pool.size of them */
	char *results, *notes; /* of all their items */
	struct tray *trays;    /* of each worker; NULL: files are worked on one by one */
	size_t tray_size;      /* files that one takes */
	atomic_uint open;      /* files that workers have open */
	struct twins twins;    /* where results are shared */
	struct batch *batch;   /* being filled, NULL: none */
	atomic_int lost;       /* errno of what could not be reported */
};

/* Whether one name of FILE counts, of several that it may have. */
bool each_counts_once(const struct each_run *run, const struct each_file *file);

/* For pool.run and pool.settle: opens what a batch holds and works on it, and on what waits to
 * be worked on together. ARGUMENT is the run. */
void each_work(struct pool_claim *claim, void *argument);
void each_settle(const struct pool_claim *claim, void *argument);

#endif
