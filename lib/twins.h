/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TWINS_H
#define HOTSET_TWINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * The files of several names that threads work on, or have lately: so that each is worked on
 * once, and what came of it is the same under each name.
 */
struct twins {
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct twins_entry *list; /* a ring */
	char *results;            /* of each entry */
	size_t size, result_size, next;
};

/* For SIZE files that threads may be at, from the first that is not done to the last, and
 * results of RESULT_SIZE bytes. -1 with ENOMEM. */
int twins_begin(struct twins *twins, size_t size, size_t result_size);
void twins_free(struct twins *twins);

/*
 * Whether the file is the caller's to work on: then twins_done follows. Else it is another's,
 * and twins_take tells what came of it.
 */
bool twins_claim(struct twins *twins, const struct stat *status);

/* What came of the file, and an errno: kept for who takes it. */
void twins_done(struct twins *twins, const struct stat *status, const void *result, int error);

/*
 * Waits until it is known what came of the file; returns its errno, and fills in RESULT. The
 * caller must have done all that others may wait for.
 */
int twins_take(struct twins *twins, const struct stat *status, void *result);

#endif
