/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_POOL_H
#define HOTSET_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bounded pipeline: one thread produces jobs of several items each, worker
 * threads run the items in any order, the caller collects the jobs in the order
 * they were produced. Jobs are the caller's memory and used again and again.
 */

struct pool_job {
	size_t count;       /* of items; the producer sets it */
	atomic_size_t next; /* item to run next */
	unsigned holders;   /* workers that are at it */
	bool done;
};

/* Items of a job that a worker has taken: from ITEM, the one at hand, up to END. */
struct pool_claim {
	struct pool_job *job;
	uint64_t number; /* of the job */
	size_t item, end;
	unsigned worker; /* its number */
};

struct pool {
	unsigned workers;
	size_t share;           /* items of a job that a worker takes at once; not 0 */
	struct pool_job **jobs; /* each the head of a larger struct */
	size_t size;            /* how many */
	void *argument;

	/* Calls pool_take and pool_submit until it has no more. */
	void (*produce)(struct pool *pool, void *argument);
	/* In a worker thread, the item at hand. */
	void (*run)(struct pool_claim *claim, void *argument);
	/* In a worker that has run some items of a job, and will run no more of it; NULL: none. */
	void (*settle)(const struct pool_claim *claim, void *argument);
	void (*collect)(struct pool_job *job, void *argument);
	/* In the caller's thread, each tenth of a second at least: whether to go on, else it is as
	 * after a stop. May be NULL. */
	bool (*breathe)(void *argument);

	/* the pool's own */
	atomic_bool stopping;
	atomic_uint idle;
	uint64_t produced, started, collected; /* jobs so far */
	bool closed;                           /* the producer has returned */
	unsigned threads;                      /* that still run */
	atomic_uint numbered;                  /* workers so far */
	pthread_mutex_t lock;
	pthread_cond_t work, space, news;
};

/*
 * Runs it all. Returns 0, or -1 with errno where the threads could not be
 * started. Where stop_asked, what is begun is finished and the rest is not run
 * (but collected). A thread that hangs in the kernel for longer is left alone:
 * returns 1, and the pool and all that its functions use must stay in memory.
 */
int pool_run(struct pool *pool);

/* For a worker, before an item that takes long: others may have what it claimed behind that.
 * Only where a share is a whole job. */
void pool_hand_on(struct pool *pool, struct pool_claim *claim);

/* For the producer: a job to fill, NULL where the pool stops. Until pool_submit it
 * is the same one. */
struct pool_job *pool_take(struct pool *pool);
void pool_submit(struct pool *pool);

/* For the producer: whether workers wait for a job: better a small one now than a large one later. */
bool pool_hungry(const struct pool *pool);

/* Whether the producer shall return. */
bool pool_stopping(const struct pool *pool);

#endif
