/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PACE_H
#define HOTSET_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * No more than so many bytes a second, of all threads together, and smoothly: no second has
 * more, whichever one looks at, but for what is less than a chunk.
 */
struct pace {
	uint64_t rate; /* bytes a second; 0: as many as there are */

	/* its own */
	pthread_mutex_t lock;
	uint64_t paid; /* stop_now: until then, the time is used up */
};

/* Begins with RATE: 0, or pace_least or more. */
void pace_begin(struct pace *pace, uint64_t rate);

/* The lowest rate that can be held: a page cannot be read in parts. */
uint64_t pace_least(void);

/* How many bytes, whole pages, are best asked for at once; UINT64_MAX: any number. */
uint64_t pace_chunk(const struct pace *pace);

/* Before BYTES are read: waits until they may be. False where it was stopped (stop_asked)
 * instead. Thread-safe. */
bool pace_wait(struct pace *pace, uint64_t bytes);

#endif
