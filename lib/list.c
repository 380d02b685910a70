/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SIZE 65536

/* O_NONBLOCK: a FIFO that nobody writes to is waited for where a stop ends the wait. */
int
list_open(struct list *list, const char *name, bool nul)
{
	*list = (struct list){ .fd = STDIN_FILENO, .end = nul ? '\0' : '\n', .limit = PATH_MAX };
	if (strcmp(name, "-") != 0)
		list->fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return list->fd < 0 ? -1 : 0;
}

/* One byte of the buffer stays free, for the NUL after a last name without end. */
int
list_fill(struct list *list)
{
	ssize_t n;

	if (list->start) {
		list->filled -= list->start;
		memmove(list->buffer, list->buffer + list->start, list->filled);
		list->start = 0;
	}
	if (list->filled + 1 >= list->size) {
		size_t size = list->size ? 2 * list->size : FIRST_SIZE;
		char *buffer = realloc(list->buffer, size);

		if (!buffer)
			return -1;
		list->buffer = buffer;
		list->size = size;
	}
	n = read(list->fd, list->buffer + list->filled, list->size - list->filled - 1);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	list->filled += (size_t)n;
	list->finished = n == 0;
	return 0;
}

bool
list_ready(const struct list *list, int timeout)
{
	struct pollfd ready = { .fd = list->fd, .events = POLLIN };

	return poll(&ready, 1, timeout) != 0;
}

/* Cuts off what is left of the buffer up to END, or all of it where that is NULL; returns
 * where it ends. */
static char *
cut(struct list *list, char *end)
{
	if (!end) {
		end = list->buffer + list->filled;
		list->start = list->filled;
	} else
		list->start = (size_t)(end - list->buffer) + 1;
	*end = '\0';
	return end;
}

static int
fail(int error)
{
	errno = error;
	return -1;
}

int
list_next(struct list *list, const char **name)
{
	while (list->start < list->filled) {
		char *at = list->buffer + list->start;
		size_t left = list->filled - list->start;
		char *end = memchr(at, list->end, left);
		bool rest = list->overlong,
		     overlong = (end ? (size_t)(end - at) : left) >= list->limit,
		     is_cut = !end && list->end == '\0';

		if (!end && !rest && !overlong && !list->finished)
			return fail(EAGAIN);
		list->overlong = !end && (rest || overlong);
		end = cut(list, end);
		if (rest) /* of a name that has been reported */
			continue;
		*name = at;
		if (overlong) {
			at[list->limit - 1] = '\0';
			return fail(strlen(at) < list->limit - 1 ? EINVAL : ENAMETOOLONG);
		}
		if (strlen(at) < (size_t)(end - at))
			return fail(EINVAL);
		if (is_cut)
			return fail(LIST_CUT);
		if (*at)
			return 1;
	}
	return list->finished ? 0 : fail(EAGAIN);
}

void
list_close(struct list *list)
{
	if (list->fd > STDERR_FILENO)
		close(list->fd);
	free(list->buffer);
	*list = (struct list){ .fd = -1 };
}
