/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "stop.h"

#define LOOK        100000000ULL  /* between looks at stop_asked, in ns */
#define PATIENCE    1000000000ULL /* with threads that hang, after a stop */
#define LEAVE_WAIT  2000000ULL    /* ns */
#define LEAVE_TRIES 50
#define ROOM        (4 << 20)   /* bytes of addresses (ulimit -v) */
#define STACK_SIZE  (256 << 10) /* musl's default is 128 KiB */

static struct pool_job *
job_at(const struct pool *pool, uint64_t number)
{
	return pool->jobs[number % pool->size];
}

/* Takes the job that is next in line; the lock is held. */
static struct pool_job *
enter(struct pool *pool, uint64_t *number)
{
	struct pool_job *job;

	while (pool->started == pool->produced && !pool->closed) {
		atomic_fetch_add(&pool->idle, 1);
		pthread_cond_wait(&pool->work, &pool->lock);
		atomic_fetch_sub(&pool->idle, 1);
	}
	if (pool->started == pool->produced)
		return NULL;
	*number = pool->started;
	job = job_at(pool, *number);
	job->holders++;
	return job;
}

/* Its items have all been claimed: whoever leaves last has finished it. */
static void
leave(struct pool *pool, struct pool_job *job, uint64_t number)
{
	if (pool->started == number && atomic_load(&job->next) >= job->count)
		pool->started++;
	if (--job->holders == 0) {
		job->done = true;
		if (number == pool->collected)
			pthread_cond_signal(&pool->news);
	}
}

static void
exit_thread(struct pool *pool)
{
	pool->threads--;
	pthread_cond_signal(&pool->news);
	pthread_mutex_unlock(&pool->lock);
}

/* Runs items of a job until all are claimed. */
static void
run_items(struct pool *pool, struct pool_claim *claim)
{
	struct pool_job *job = claim->job;

	while ((claim->item = atomic_fetch_add(&job->next, pool->share)) < job->count) {
		claim->end = claim->item + pool->share;
		if (claim->end > job->count)
			claim->end = job->count;
		for (; claim->item < claim->end; claim->item++)
			if (!pool_stopping(pool))
				pool->run(claim, pool->argument);
	}
	if (pool->settle)
		pool->settle(claim, pool->argument);
}

void
pool_hand_on(struct pool *pool, struct pool_claim *claim)
{
	if (claim->item + 1 == claim->end)
		return;
	pthread_mutex_lock(&pool->lock);
	claim->end = claim->item + 1;
	atomic_store(&claim->job->next, claim->end);
	if (pool->started > claim->number)
		pool->started = claim->number;
	if (atomic_load(&pool->idle))
		pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

static void *
worker(void *argument)
{
	struct pool *pool = argument;
	struct pool_claim claim = { .worker = atomic_fetch_add(&pool->numbered, 1) };

	pthread_mutex_lock(&pool->lock);
	while ((claim.job = enter(pool, &claim.number))) {
		pthread_mutex_unlock(&pool->lock);
		run_items(pool, &claim);
		pthread_mutex_lock(&pool->lock);
		leave(pool, claim.job, claim.number);
	}
	exit_thread(pool);
	return NULL;
}

static void *
producer(void *argument)
{
	struct pool *pool = argument;

	pool->produce(pool, pool->argument);
	pthread_mutex_lock(&pool->lock);
	pool->closed = true;
	pthread_cond_broadcast(&pool->work);
	exit_thread(pool);
	return NULL;
}

struct pool_job *
pool_take(struct pool *pool)
{
	struct pool_job *job = NULL;

	pthread_mutex_lock(&pool->lock);
	while (pool->produced - pool->collected == pool->size && !pool_stopping(pool))
		pthread_cond_wait(&pool->space, &pool->lock);
	if (!pool_stopping(pool))
		job = job_at(pool, pool->produced);
	pthread_mutex_unlock(&pool->lock);
	return job;
}

void
pool_submit(struct pool *pool)
{
	struct pool_job *job;

	pthread_mutex_lock(&pool->lock);
	job = job_at(pool, pool->produced);
	job->done = false;
	atomic_store(&job->next, 0);
	pool->produced++;
	if (atomic_load(&pool->idle))
		pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

bool
pool_hungry(const struct pool *pool)
{
	/* before the first job they may not have got as far as to wait for it */
	return pool->produced == 0 || atomic_load_explicit(&pool->idle, memory_order_relaxed) > 0;
}

bool
pool_stopping(const struct pool *pool)
{
	return atomic_load_explicit(&pool->stopping, memory_order_relaxed);
}

/* Starts a thread that cannot be done without. One of an earlier run that is about to leave may
 * count still where there is a limit. */
static int
start_thread(struct pool *pool, const pthread_attr_t *attributes, void *(*run)(void *argument))
{
	pthread_t thread;
	int error = pthread_create(&thread, attributes, run, pool);

	for (int tries = 0; error == EAGAIN && tries < LEAVE_TRIES; tries++) {
		stop_sleep(stop_now() + LEAVE_WAIT, -1);
		error = pthread_create(&thread, attributes, run, pool);
	}
	pool->threads += !error;
	return error;
}

/* The other workers, or as many of them as there may be: with room for what they map. */
static void
start_more(struct pool *pool, const pthread_attr_t *attributes)
{
	void *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	for (unsigned i = 1; i < pool->workers; i++) {
		if (pthread_create(&thread, attributes, worker, pool) != 0)
			break;
		pool->threads++;
	}
	if (room != MAP_FAILED)
		munmap(room, ROOM);
}

/* Without one worker and the producer it cannot be done; fewer workers than were asked for will
 * do, where there is a limit. */
static int
start_threads(struct pool *pool)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_mutex_lock(&pool->lock);
	error = start_thread(pool, &attributes, worker);
	if (!error)
		error = start_thread(pool, &attributes, producer);
	if (!error)
		start_more(pool, &attributes);
	pool->closed |= error != 0;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	pthread_attr_destroy(&attributes);
	return error;
}

/* Waits for news, and looks for a stop now and then; the lock is held. */
static void
wait_for_news(struct pool *pool)
{
	uint64_t until = stop_now() + LOOK;
	struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	pthread_cond_timedwait(&pool->news, &pool->lock, &time);
}

/* Whether nobody wants it to end; the lock is held. */
static bool
go_on(struct pool *pool)
{
	bool wanted = true;

	if (pool->breathe) {
		pthread_mutex_unlock(&pool->lock);
		wanted = pool->breathe(pool->argument);
		pthread_mutex_lock(&pool->lock);
	}
	return wanted && !stop_asked();
}

/* Collects job after job until there are no more; true where it gave up on a thread
 * that hangs. */
static bool
collect(struct pool *pool)
{
	uint64_t deadline = UINT64_MAX;

	while (pool->threads || pool->collected < pool->produced) {
		struct pool_job *job = job_at(pool, pool->collected);

		if (deadline == UINT64_MAX && !go_on(pool)) {
			atomic_store(&pool->stopping, true);
			pthread_cond_signal(&pool->space);
			deadline = stop_now() + PATIENCE;
		}
		if (pool->collected < pool->produced && job->done) {
			pthread_mutex_unlock(&pool->lock);
			pool->collect(job, pool->argument);
			pthread_mutex_lock(&pool->lock);
			pool->collected++;
			pthread_cond_signal(&pool->space);
		} else if (stop_now() >= deadline)
			return true;
		else
			wait_for_news(pool);
	}
	return false;
}

int
pool_run(struct pool *pool)
{
	pthread_condattr_t monotonic;
	int error;
	bool hung;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->space, NULL);
	pthread_cond_init(&pool->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = start_threads(pool);
	pthread_mutex_lock(&pool->lock);
	hung = collect(pool);
	pthread_mutex_unlock(&pool->lock);
	errno = error;
	return error ? -1 : hung;
}
