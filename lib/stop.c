/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
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
 * Signals that ask for a stop stay blocked but for the sleep, which unblocks them
 * in the same step: a signal between a look at the mark and the sleep is not lost. Work
 * that never sleeps looks at the mark through stop_asked, which lets what is
 * pending in.
 */
static sigset_t caught, before;

static const struct {
	int signal;
	void (*handler)(int);
	bool blocked;   /* as above */
	bool ignorable; /* who started us may have it ignored */
} signals[] = {
	{ SIGINT, note, true, false },
	{ SIGTERM, note, true, false },
	{ SIGALRM, note, true, false },
	/* nohup(1) */
	{ SIGHUP, note, true, true },
	{ SIGPIPE, note, false, true },
	/* the write fails instead */
	{ SIGXFSZ, SIG_IGN, false, false },
	/* ignored, it would take the status of children */
	{ SIGCHLD, SIG_DFL, false, false },
};
#define SIGNALS (sizeof signals / sizeof *signals)

/* As they were before stop_catch, for a child that runs another program. */
static struct sigaction old_actions[SIGNALS];
static sigset_t old_mask;
static bool catching;

/* Whether the signal stays ignored. */
static bool
is_left(size_t i)
{
	return signals[i].ignorable && old_actions[i].sa_handler == SIG_IGN;
}

void
stop_catch(uint64_t timeout)
{
	struct itimerval limit = { 0 };

	sigemptyset(&caught);
	for (size_t i = 0; i < SIGNALS; i++) {
		sigaction(signals[i].signal, NULL, &old_actions[i]);
		if (signals[i].blocked && !is_left(i))
			sigaddset(&caught, signals[i].signal);
	}
	pthread_sigmask(SIG_BLOCK, &caught, &old_mask);
	before = old_mask;
	for (size_t i = 0; i < SIGNALS; i++) {
		struct sigaction action = { .sa_handler = signals[i].handler };

		if (sigismember(&caught, signals[i].signal))
			sigdelset(&before, signals[i].signal);
		if (!is_left(i))
			sigaction(signals[i].signal, &action, NULL);
	}
	catching = true;
	if (timeout) {
		uint64_t microseconds = timeout / 1000 + 1; /* never 0, which is none */

		limit.it_value.tv_sec = (time_t)(microseconds / 1000000);
		limit.it_value.tv_usec = (suseconds_t)(microseconds % 1000000);
		setitimer(ITIMER_REAL, &limit, NULL);
	}
}

int
stop_divert(int fd, const int *numbers, size_t count)
{
	static sigset_t diverted; /* empty, and from then on all */

	for (size_t i = 0; i < count; i++) {
		sigaddset(&diverted, numbers[i]);
		sigaddset(&before, numbers[i]);
		sigdelset(&caught, numbers[i]);
	}
	pthread_sigmask(SIG_BLOCK, &diverted, NULL);
	return signalfd(fd, &diverted, SFD_CLOEXEC | SFD_NONBLOCK);
}

void
stop_ignore_pipe(void)
{
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

void
stop_restore(void)
{
	if (!catching)
		return;
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i].signal, &old_actions[i], NULL);
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

void
stop_insist(uint64_t patience)
{
	int signal = asked && asked != SIGALRM ? asked : SIGTERM;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec when = {
		.it_value = { (time_t)(patience / NSEC), (long)(patience % NSEC) },
	};
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t only;
	timer_t timer;

	sigaction(signal, &action, NULL);
	sigemptyset(&only);
	sigaddset(&only, signal);
	/* the one that asked may be pending still: it is taken, or it would end us now */
	while (sigtimedwait(&only, NULL, &(struct timespec){ 0 }) > 0)
		continue;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_settime(timer, 0, &when, NULL);
	/* not a handler: what waits in the kernel can be ended, but not be interrupted */
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
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
	return asked && asked != SIGALRM ? 128 + asked : otherwise;
}
