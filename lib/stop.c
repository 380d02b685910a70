/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#define NSEC 1000000000ULL

static volatile sig_atomic_t asked;

static void
note(int signal)
{
	if (!asked)
		asked = signal;
}

/*
 * The signals stay blocked but for the sleep, which unblocks them in the same
 * step: a signal between a look at the mark and the sleep is not lost. Work
 * that never sleeps looks at the mark through stop_asked, which lets what is
 * pending in.
 */
static sigset_t caught, before;

/* As they were before stop_catch, for a child that runs another program. */
static const int caught_signals[] = { SIGINT, SIGTERM, SIGALRM };
#define CAUGHT (sizeof caught_signals / sizeof *caught_signals)
static struct sigaction old_actions[CAUGHT];
static sigset_t old_mask;
static bool catching;

void
stop_catch(uint64_t timeout)
{
	struct sigaction action = { .sa_handler = note };
	struct itimerval limit = { 0 };

	sigemptyset(&caught);
	for (size_t i = 0; i < CAUGHT; i++)
		sigaddset(&caught, caught_signals[i]);
	pthread_sigmask(SIG_BLOCK, &caught, &old_mask);
	before = old_mask;
	for (size_t i = 0; i < CAUGHT; i++) {
		sigdelset(&before, caught_signals[i]);
		sigaction(caught_signals[i], &action, &old_actions[i]);
	}
	catching = true;
	if (timeout) {
		uint64_t microseconds = timeout / 1000 + 1; /* never 0, which is none */

		limit.it_value.tv_sec = (time_t)(microseconds / 1000000);
		limit.it_value.tv_usec = (suseconds_t)(microseconds % 1000000);
		setitimer(ITIMER_REAL, &limit, NULL);
	}
}

void
stop_restore(void)
{
	if (!catching)
		return;
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught_signals[i], &old_actions[i], NULL);
	pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
}

int
stop_asked(void)
{
	sigset_t pending;

	if (!asked && sigpending(&pending) == 0) {
		for (int signal = 1; signal < NSIG && !asked; signal++)
			if (sigismember(&caught, signal) && sigismember(&pending, signal))
				asked = signal;
	}
	return asked;
}

uint64_t
stop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC + (uint64_t)now.tv_nsec;
}

bool
stop_sleep(uint64_t deadline, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (!asked) {
		uint64_t now = stop_now();
		struct timespec left = { 0 };
		int n;

		if (now >= deadline)
			return true;
		left.tv_sec = (time_t)((deadline - now) / NSEC);
		left.tv_nsec = (long)((deadline - now) % NSEC);
		n = ppoll(&ready, 1, deadline == UINT64_MAX ? NULL : &left, &before);
		if (n > 0 || (n < 0 && errno != EINTR))
			return false;
	}
	return false;
}

int
stop_status(int otherwise)
{
	if (asked == SIGINT || asked == SIGTERM)
		return 128 + asked;
	return otherwise;
}
