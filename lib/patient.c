/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patient.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fd.h"
#include "num.h"
#include "stop.h"

#define MSEC 1000000ULL

#define LOOK_MS 100 /* between looks at stop_asked: the signal may be another thread's */
#define PAUSE   10  /* ms, where what says that it takes something does not */
#define GRACE   (1000 * MSEC)

#define BUFFER 65536

static atomic_bool gave_up; /* after a stop, nobody read for the whole grace */

static struct {
	void (*call)(void *argument);
	void *argument;
} meanwhile;

void
patient_meanwhile(void (*call)(void *), void *argument)
{
	meanwhile.call = call;
	meanwhile.argument = argument;
}

/* A wait for one reader, at most until a moment (stop_now). */
struct wait {
	bool forever;
	bool stopped; /* for ever no more */
	uint64_t until;
};

/* Whether FD takes something: 1, 0 after a while, or -1 with errno, EAGAIN where the wait is over. */
static int
look(int fd, struct wait *wait)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	uint64_t now = stop_now(), left;
	int n;

	if (wait->forever && !wait->stopped && stop_asked()) {
		wait->stopped = true;
		wait->until = num_sum(now, atomic_load(&gave_up) ? 0 : GRACE);
	}
	left = now < wait->until ? (wait->until - now) / MSEC + 1 : 0;
	n = poll(&ready, 1, left > LOOK_MS ? LOOK_MS : (int)left);
	if (n > 0)
		return 1;
	if (n < 0 && errno != EINTR)
		return -1;
	if (stop_now() >= wait->until) {
		if (wait->stopped)
			atomic_store(&gave_up, true);
		errno = EAGAIN;
		return -1;
	}
	if (wait->forever && meanwhile.call)
		meanwhile.call(meanwhile.argument);
	return 0;
}

static int
await(int fd, struct wait *wait)
{
	int takes;

	do
		takes = look(fd, wait);
	while (takes == 0);
	return takes < 0 ? -1 : 0;
}

/*
 * A terminal may take less than it is given, and block then. Opened anew it need not, and FD stays
 * as it is; -1 where that cannot be. The other side of a pty (which has a number) would be another
 * pty.
 */
static int
open_terminal(int fd)
{
	char path[32];
	int number;

	if (!isatty(fd) || ioctl(fd, TIOCGPTN, &number) == 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int
patient_write(int fd, const void *bytes, size_t length, uint64_t patience, size_t *written)
{
	struct wait wait = { .forever = patience == PATIENT_FOREVER,
		.until = num_sum(stop_now(), patience) };
	int terminal = open_terminal(fd), to = terminal < 0 ? fd : terminal;
	const char *at = bytes;
	size_t done = 0;
	int result = 0;

	while (done < length && result == 0) {
		size_t part = length - done;
		ssize_t n;

		/* a pipe that takes anything takes so much */
		if (part > PIPE_BUF)
			part = PIPE_BUF;
		result = await(to, &wait);
		if (result < 0)
			break;
		n = write(to, at + done, part);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == EAGAIN && stop_now() < wait.until)
			poll(NULL, 0, PAUSE);
		else if (n < 0 && errno != EINTR)
			result = -1;
	}
	if (terminal >= 0)
		fd_close(terminal);
	if (written)
		*written = done;
	return result;
}

struct stream {
	int fd, error; /* 0: none so far */
	bool closes;
	char buffer[BUFFER];
};

static ssize_t
stream_write(void *cookie, const char *bytes, size_t length)
{
	struct stream *stream = cookie;

	if (!stream->error && patient_write(stream->fd, bytes, length, PATIENT_FOREVER, NULL) < 0)
		stream->error = errno == EAGAIN ? ETIMEDOUT : errno;
	if (!stream->error)
		return (ssize_t)length;
	errno = stream->error;
	return -1;
}

static int
stream_close(void *cookie)
{
	struct stream *stream = cookie;
	int result = stream->closes ? close(stream->fd) : 0;

	free(stream);
	return result;
}

FILE *
patient_stream(int fd, bool closes)
{
	struct stream *stream = malloc(sizeof *stream);
	FILE *file = NULL;

	if (!stream)
		return NULL;
	stream->fd = fd;
	stream->error = 0;
	stream->closes = closes;
	file = fopencookie(stream, "w",
	    (cookie_io_functions_t){ .write = stream_write, .close = stream_close });
	if (file)
		setvbuf(file, stream->buffer, isatty(fd) ? _IOLBF : _IOFBF, sizeof stream->buffer);
	else
		free(stream);
	return file;
}
