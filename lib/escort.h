/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ESCORT_H
#define HOTSET_ESCORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sees a command to its end, also where we are asked to stop: SIGINT, SIGTERM and SIGHUP are
 * passed on to it, and it is waited for. Whoever insists, by a second one, has it left alone a
 * second later; it may go on. A time limit ends it, with what it has started.
 */

enum escort_state {
	ESCORT_WAITS,
	ESCORT_ENDED, /* it has been waited for */
	ESCORT_LIMIT, /* the time limit ended it */
	ESCORT_LEFT,  /* it goes on */
};

struct escort {
	int wait_status; /* where it has ended */
	int signal;      /* the last that was passed on; 0: none */

	/* private */
	pid_t pid;
	int pidfd, signals; /* our own signals are read from this one */
	unsigned passed;
	bool limit;
	uint64_t leave; /* CLOCK_MONOTONIC, ns */
};

/* For our child PID and its PIDFD, after stop_catch, of which this takes over the signals. What
 * has asked to stop before is passed on. */
void escort_begin(struct escort *escort, pid_t pid, int pidfd);

/* Waits until DEADLINE (CLOCK_MONOTONIC, ns) or until something is to be told. */
enum escort_state escort_wait(struct escort *escort, uint64_t deadline);

void escort_end(const struct escort *escort);

#endif
