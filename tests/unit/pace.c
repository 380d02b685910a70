/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pace.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "stop.h"
#include "tap.h"

#define SECOND  1000000000ULL
#define RATE    (64ULL << 20)
#define THREADS 4
#define CHUNKS  16 /* of each thread: all take two seconds */

static struct pace pace;
static uint64_t times[THREADS * CHUNKS];

static void *
take(void *argument)
{
	uint64_t *own = argument;

	for (int i = 0; i < CHUNKS; i++)
		own[i] = pace_wait(&pace, pace_chunk(&pace)) ? stop_now() : 0;
	return NULL;
}

/* The most chunks that any second has, and in *LAST when the last one was read. */
static int
most_in_a_second(uint64_t *last)
{
	int most = 0;

	*last = 0;
	for (int i = 0; i < THREADS * CHUNKS; i++) {
		int count = 0;

		for (int j = 0; j < THREADS * CHUNKS; j++)
			count += times[j] >= times[i] && times[j] - times[i] < SECOND;
		most = count > most ? count : most;
		*last = times[i] > *last ? times[i] : *last;
	}
	return most;
}

static void
test_threads(void)
{
	pthread_t threads[THREADS];
	uint64_t start, last;
	int most, started = 0;

	pace_begin(&pace, RATE);
	start = stop_now();
	for (; started < THREADS; started++)
		if (pthread_create(&threads[started], NULL, take, times + started * CHUNKS) != 0)
			break;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	ok(started == THREADS, "threads");
	most = most_in_a_second(&last);
	/* the clock is looked at after the lock was given back: one chunk may be seen late */
	ok(most <= 33, "no second has more than the rate");
	printf("# most in a second: %d of 32\n", most);
	ok(last - start >= 2 * SECOND - SECOND / 10, "all of them together take their time");
	ok(last - start < 4 * SECOND, "and not much more");
	printf("# seconds: %.3f\n", (double)(last - start) / (double)SECOND);
}

static void *
interrupt(void *argument)
{
	usleep(200000);
	kill(getpid(), *(int *)argument);
	return NULL;
}

static void
test_stop(void)
{
	int signal = SIGTERM;
	pthread_t thread;
	uint64_t start = stop_now();

	pace_begin(&pace, pace_least());
	stop_catch(0);
	ok(pthread_create(&thread, NULL, interrupt, &signal) == 0, "a signal comes");
	ok(!pace_wait(&pace, 1ULL << 40), "a stop ends the wait");
	ok(stop_now() - start < 5 * SECOND, "at once");
	ok(!pace_wait(&pace, 1), "and all that would follow");
	pthread_join(thread, NULL);
	pace_begin(&pace, 0);
	ok(!pace_wait(&pace, 1), "even without a rate");
}

int
main(void)
{
	uint64_t page = pace_least() / 4, start = stop_now();

	pace_begin(&pace, 0);
	ok(pace_wait(&pace, UINT64_MAX) && stop_now() - start < SECOND, "no rate, no wait");
	ok(pace_chunk(&pace) == UINT64_MAX, "nor smaller pieces");
	pace_begin(&pace, pace_least());
	ok(pace_chunk(&pace) == page, "never less than a page");
	pace_begin(&pace, RATE);
	ok(pace_chunk(&pace) == RATE / 32, "a thirty-second of a second");
	pace_begin(&pace, 32 * page * 2 - 1);
	ok(pace_chunk(&pace) == page, "whole pages");
	test_threads();
	test_stop();
	return tap_done();
}
