/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aside.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "stop.h"

#define LOOK       100000000ULL  /* between looks at stop_asked, in ns */
#define PATIENCE   1000000000ULL /* after a stop */
#define STACK_SIZE (256 << 10)   /* musl's default is 128 KiB */

struct aside {
	void (*work)(void *argument);
	void *argument;
	pthread_mutex_t lock;
	pthread_cond_t news;
	bool done;
};

static void *
thread(void *argument)
{
	struct aside *aside = argument;

	aside->work(aside->argument);
	pthread_mutex_lock(&aside->lock);
	aside->done = true;
	pthread_cond_signal(&aside->news);
	pthread_mutex_unlock(&aside->lock);
	return NULL;
}

static void
wait_a_moment(struct aside *aside)
{
	uint64_t until = stop_now() + LOOK;
	struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	pthread_cond_timedwait(&aside->news, &aside->lock, &time);
}

static bool
go_on(struct aside *aside, bool (*breathe)(void *argument), void *argument)
{
	bool wanted;

	pthread_mutex_unlock(&aside->lock);
	wanted = !breathe || breathe(argument);
	pthread_mutex_lock(&aside->lock);
	return wanted && !stop_asked();
}

static bool
wait_for(struct aside *aside, bool (*breathe)(void *argument), void *argument)
{
	uint64_t deadline = UINT64_MAX;
	bool done;

	pthread_mutex_lock(&aside->lock);
	while (!aside->done && stop_now() < deadline) {
		wait_a_moment(aside);
		if (!aside->done && deadline == UINT64_MAX && !go_on(aside, breathe, argument))
			deadline = stop_now() + PATIENCE;
	}
	done = aside->done;
	pthread_mutex_unlock(&aside->lock);
	return done;
}

static int
start(struct aside *aside, pthread_t *started)
{
	pthread_condattr_t monotonic;
	pthread_attr_t attributes;
	int error;

	pthread_mutex_init(&aside->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&aside->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	error = pthread_create(started, &attributes, thread, aside);
	pthread_attr_destroy(&attributes);
	return error;
}

bool
aside_run(void (*work)(void *argument), void *argument)
{
	return aside_run_with(work, argument, NULL, NULL);
}

bool
aside_run_with(void (*work)(void *argument), void *argument, bool (*breathe)(void *argument),
    void *breathe_argument)
{
	struct aside *aside = calloc(1, sizeof *aside);
	pthread_t started;

	if (aside)
		*aside = (struct aside){ .work = work, .argument = argument };
	if (!aside || start(aside, &started) != 0) {
		free(aside);
		work(argument); /* rather than not at all */
		return true;
	}
	if (!wait_for(aside, breathe, breathe_argument)) {
		pthread_detach(started);
		return false;
	}
	pthread_join(started, NULL);
	free(aside);
	return true;
}
