/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PINNING_RUN_H
#define HOTSET_PINNING_RUN_H

#include "each.h"
#include "pinning.h"
#include "preload.h"

/* What pinning.c, which reports, shares with pinning_work.c, which loads and pins. */

struct pinning_pass {
	struct keeper *keeper;
	struct select select;
	bool fresh;     /* a folder that nobody has surveyed */
	uint32_t owner; /* of all that is found there */
};

/* What a worker leaves. */
struct pinning_outcome {
	bool worked;
	bool halted, over, shared; /* why it was not pinned: memory is tight; more than allowed; by
				    * another name it is, or will be */
	enum pin_failure failure;
	int error;
	struct preload loaded;
	struct share_place place;
	uint64_t locked; /* bytes */
};

/* For each.work, each.gathers and each.work_together, in workers: loads files, and pins what has
 * been loaded. ARGUMENT is the pass. */
void pinning_work(struct each_file *file, void *argument);
bool pinning_gathers(const struct each_file *file, void *argument);
void pinning_work_together(struct each_file *const *files, size_t count, void *argument);

#endif
