/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share_ask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "stop.h"

/* A worker that does not answer is as good as dead. */
#define PATIENCE 30000000000ULL /* ns */
#define BREATH   100            /* ms */

void
share_give_up(struct share *share)
{
	share->dead = true;
	if (share->pid > 0)
		kill(share->pid, SIGKILL);
}

/* Waits for what a worker sends; false where it takes too long. */
static bool
wait_for_reply(const struct shares *shares, const struct share *share)
{
	bool breathes = shares->breathe && pthread_equal(shares->main, pthread_self());
	struct pollfd ready = { .fd = share->fd, .events = POLLIN };
	uint64_t deadline = stop_now() + PATIENCE;

	while (poll(&ready, 1, BREATH) <= 0) {
		if (stop_now() >= deadline)
			return false;
		if (breathes)
			shares->breathe(shares->argument);
	}
	return true;
}

int
share_await(const struct shares *shares, const struct share *share, struct share_reply *reply)
{
	return wait_for_reply(shares, share) ? share_receive_reply(share->fd, reply) : -1;
}

int
share_ask(const struct shares *shares, struct share *share, const struct share_request *request,
    const int *fds, struct share_reply *reply)
{
	if (!share->dead && share_send_request(share->fd, request, fds) == 0) {
		if (share_await(shares, share, reply) == 0)
			return 0;
	} else if (!share->dead && errno != EPIPE && errno != ECONNRESET)
		return -1;
	share_give_up(share);
	errno = ECONNRESET;
	return -1;
}
