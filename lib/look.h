/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LOOK_H
#define HOTSET_LOOK_H

#include "reason.h"
#include "sets.h"

struct bpf_link;

/* Programs that are run when hitratio looks, and not by an event. A zeroed struct has none. */
struct look {
	struct bpf_link *tasks;
	struct bpf_link *ledger; /* NULL where the program that sweeps it is run directly */
};

/* Gets ready, and looks once: the programs know their own address after that. -1 with the
 * REASON. */
int look_begin(struct look *look, const struct sets *sets, struct reason *reason);

/* Looks at what tasks have read. Functions say all as they return; what tracepoints have
 * shown may still be held. -1 with errno. */
int look_at_tasks(const struct look *look, const struct sets *sets);

/* Sweeps the ledger: see bpf/sweep.h. -1 with errno. */
int look_over_ledger(const struct look *look, const struct sets *sets);

void look_end(struct look *look);

#endif
