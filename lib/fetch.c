/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * One read. Measured on two devices with readahead of 128 KiB and of 8 MiB: at 2 MiB a
 * plain read is as fast as any other way, or faster. The kernel reads such a request
 * as a whole (Linux 4.10), and in large folios, which WILLNEED and FADV_RANDOM never
 * use: they cost more to make than the copy that they save.
 */
#define PIECE (2U << 20)

/* All of a piece goes into the same small buffer, again and again: memory of our own would have
 * to be a part of the budget, and this stays in the processor's cache. */
#define BUFFER (64U << 10)
#define PARTS  (PIECE / BUFFER)

/*
 * But where the kernel reads that much ahead anyway, pages that are only handed on (to
 * /dev/null) save the copy, some 5 % of the time. The kernel asks for them 64 KiB at a time,
 * which is too little where it reads less ahead.
 */
#define SENT_PIECE (8U << 20)

static bool
send_from(struct fetch *fetch)
{
	fetch->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fetch->null < 0)
		return false;
	posix_fadvise(fetch->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* twice as far ahead */
	fetch->piece = SENT_PIECE;
	return true;
}

static int
read_from(struct fetch *fetch)
{
	fetch->piece = PIECE;
	fetch->buffer = malloc(BUFFER);
	return fetch->buffer ? 0 : -1;
}

int
fetch_begin(struct fetch *fetch, int fd, const struct device *device, bool ahead)
{
	*fetch = (struct fetch){ .fd = fd, .null = -1 };
	if (ahead && device->ahead >= PIECE && send_from(fetch))
		return 0;
	return read_from(fetch);
}

static ssize_t
read_into_buffer(const struct fetch *fetch, uint64_t offset, size_t size)
{
	struct iovec parts[PARTS];
	int count = 0;

	for (; size > 0; size -= parts[count++].iov_len) {
		parts[count].iov_base = fetch->buffer;
		parts[count].iov_len = size < BUFFER ? size : BUFFER;
	}
	return preadv(fetch->fd, parts, count, (off_t)offset);
}

ssize_t
fetch_read(struct fetch *fetch, uint64_t offset, uint64_t length)
{
	size_t size = length < fetch->piece ? (size_t)length : fetch->piece;
	off_t at = (off_t)offset;
	ssize_t n;

	if (!fetch->buffer) {
		n = sendfile(fetch->null, fetch->fd, &at, size);
		if (n >= 0 || errno == EINTR)
			return n;
		/* not every file system can, nor sandbox lets us; what else it is, read(2) tells */
		if (read_from(fetch) < 0)
			return -1;
		size = size < PIECE ? size : PIECE;
	}
	return read_into_buffer(fetch, offset, size);
}

void
fetch_end(struct fetch *fetch)
{
	free(fetch->buffer);
	if (fetch->null >= 0)
		close(fetch->null);
}
