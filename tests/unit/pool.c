/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pool.h"

#include <time.h>

#include "tap.h"

#define ITEMS   64
#define JOBS    8
#define WORKERS 4

struct job {
	struct pool_job head;
	atomic_uint runs[ITEMS];
};

struct test {
	struct pool pool;
	struct job jobs[JOBS];
	struct pool_job *list[JOBS];
	int produced, collected;
	bool long_ones;    /* each item takes long, and hands on */
	atomic_uint at_it; /* workers */
	atomic_uint most;  /* of these at any time */
	atomic_uint wrong; /* items that were not run once, or not when they were collected */
	atomic_uint settlements;
};

static void
produce(struct pool *pool, void *argument)
{
	struct test *test = argument;
	struct job *job;

	while (test->produced < 3 * JOBS && (job = (struct job *)pool_take(pool))) {
		job->head.count = ITEMS;
		for (int i = 0; i < ITEMS; i++)
			atomic_store(&job->runs[i], 0);
		test->produced++;
		pool_submit(pool);
	}
}

static void
run(struct pool_claim *claim, void *argument)
{
	struct test *test = argument;
	struct job *job = (struct job *)claim->job;
	unsigned now = atomic_fetch_add(&test->at_it, 1) + 1, most = atomic_load(&test->most);

	while (now > most && !atomic_compare_exchange_weak(&test->most, &most, now))
		;
	if (test->long_ones) {
		pool_hand_on(&test->pool, claim);
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	}
	atomic_fetch_add(&job->runs[claim->item], 1);
	atomic_fetch_sub(&test->at_it, 1);
}

static void
settle(const struct pool_claim *claim, void *argument)
{
	struct test *test = argument;

	if (claim->worker >= WORKERS)
		atomic_fetch_add(&test->wrong, 1);
	atomic_fetch_add(&test->settlements, 1);
}

static void
collect(struct pool_job *head, void *argument)
{
	struct test *test = argument;
	struct job *job = (struct job *)head;

	test->collected++;
	for (int i = 0; i < ITEMS; i++)
		if (atomic_load(&job->runs[i]) != 1)
			atomic_fetch_add(&test->wrong, 1);
}

static void
try(struct test *test, size_t share)
{
	for (int i = 0; i < JOBS; i++)
		test->list[i] = &test->jobs[i].head;
	test->pool = (struct pool){
		.workers = WORKERS,
		.share = share,
		.jobs = test->list,
		.size = JOBS,
		.argument = test,
		.produce = produce,
		.run = run,
		.settle = settle,
		.collect = collect,
	};
	if (pool_run(&test->pool) != 0)
		atomic_fetch_add(&test->wrong, 1);
}

int
main(void)
{
	static struct test one, whole, handed_on;

	try(&one, 1);
	ok(one.collected == 3 * JOBS && one.wrong == 0, "one item at a time: each is run once");
	try(&whole, ITEMS);
	ok(whole.collected == 3 * JOBS && whole.wrong == 0, "a job at a time: each is run once");
	ok(whole.settlements >= 3 * JOBS, "who has run items of a job settles it");
	handed_on.long_ones = true;
	try(&handed_on, ITEMS);
	ok(handed_on.collected == 3 * JOBS && handed_on.wrong == 0,
	    "what is handed on: each is run once");
	ok(handed_on.most == WORKERS, "all workers are at it");
	return tap_done();
}
