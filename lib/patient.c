/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patient.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "stop.h"

#define MSEC 1000000ULL

/* Whether FD takes something before UNTIL (stop_now). */
static int
await(int fd, uint64_t until)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	uint64_t now = stop_now();
	uint64_t left = now < until ? (until - now) / MSEC + 1 : 0;
	int n;

	do
		n = poll(&ready, 1, left > INT_MAX ? INT_MAX : (int)left);
	while (n < 0 && errno == EINTR && stop_now() < until);
	if (n == 0)
		errno = EAGAIN;
	return n > 0 ? 0 : -1;
}

int
patient_write(int fd, const void *bytes, size_t length, uint64_t patience, size_t *written)
{
	uint64_t now = stop_now(), until = now + patience < now ? UINT64_MAX : now + patience;
	const char *at = bytes;
	size_t done = 0;
	int result = 0;

	while (done < length && result == 0) {
		size_t part = length - done;
		ssize_t n;

		/* a pipe that takes anything takes so much */
		if (part > PIPE_BUF)
			part = PIPE_BUF;
		if (patience != PATIENT_FOREVER && await(fd, until) < 0) {
			result = -1;
			break;
		}
		n = write(fd, at + done, part);
		if (n < 0 && errno != EINTR)
			result = -1;
		if (n > 0)
			done += (size_t)n;
	}
	if (written)
		*written = done;
	return result;
}
