/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MANNERS_H
#define HOTSET_MANNERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pace.h"
#include "pressure.h"
#include "progress.h"

/*
 * What warm leaves to others: it reads no faster than it was told, and nothing at all while
 * memory is tight, which it says on standard error.
 */
struct manners {
	struct pace pace;

	/* its own */
	struct progress *progress;
	pthread_mutex_t lock; /* of all below; held while memory is tight */
	struct pressure pressure;
	uint64_t paused; /* ns, in all */
};

/* Begins in the cgroup that pays; RATE and PROGRESS as pace_begin and progress_begin have made
 * them. Returns 0, or -1 with ENOMEM. */
int manners_begin(struct manners *manners, uint64_t rate, struct progress *progress);

/* Before BYTES are read: waits until they may be. False where it was stopped (stop_asked)
 * instead. For preload_hooks; thread-safe. */
bool manners_wait(struct manners *manners, uint64_t bytes);

/* At the end: says for how long it has paused, if it has. */
void manners_report(struct manners *manners);

void manners_free(struct manners *manners);

#endif
