/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PROGRESS_H
#define HOTSET_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One line on standard error that says how far long work is, for people: only where
 * it is a terminal and the work takes longer than a second.
 */
struct progress {
	bool on;
	uint64_t total;           /* to do, 0: unknown, so no time left is told */
	const char *what;         /* that is counted; NULL: bytes */
	atomic_ullong start;      /* stop_now, later by what was spent waiting */
	atomic_ullong done, next; /* so far; when to write again */
	atomic_bool shown;
	pthread_mutex_t lock;
};

/* Begins, with bytes; OFF: nothing is ever written. */
void progress_begin(struct progress *progress, uint64_t total, bool off);

/* The sum of the sizes of COUNT files; 0 where one is not a regular file, and only a
 * walk could tell. */
uint64_t progress_sizes(char *const paths[], size_t count);

/* So many more are done. Thread-safe. */
void progress_add(struct progress *progress, uint64_t more);

/* For so many nanoseconds nothing was done on purpose: they are no part of the rate.
 * Thread-safe. */
void progress_rest(struct progress *progress, uint64_t nanoseconds);

/* Takes the line away, before a message or at the end. Thread-safe. */
void progress_clear(struct progress *progress);

#endif
