/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "list.h"
#include "stop.h"

#define MOST (64 << 20) /* bytes: it takes memory that nobody else can have */

static int
write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0)
			return -1;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

static int
copy(int from, int to)
{
	char buffer[4096];
	size_t copied = 0;
	ssize_t n;

	for (;;) {
		stop_sleep(UINT64_MAX, from); /* a read cannot be interrupted */
		if (stop_asked()) {
			errno = EINTR;
			return -1;
		}
		n = read(from, buffer, sizeof buffer);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return (int)n;
		copied += (size_t)n;
		if (copied > MOST) {
			errno = EFBIG;
			return -1;
		}
		if (write_all(to, buffer, (size_t)n) < 0)
			return -1;
	}
}

/* /dev/stdin and its like are other files, once we are in the background. */
static bool
stays(const char *name)
{
	struct stat status;

	return strcmp(name, "-") != 0 && strncmp(name, "/dev/std", 8) != 0 &&
	    strncmp(name, "/dev/fd/", 8) != 0 && strncmp(name, "/proc/", 6) != 0 &&
	    stat(name, &status) == 0 && S_ISREG(status.st_mode);
}

const char *
spool_list(const char *name, char path[static SPOOL_PATH])
{
	struct list list;
	int to, error = 0;

	if (stays(name))
		return name;
	if (list_open(&list, name, false) < 0)
		return NULL;
	to = memfd_create("list", MFD_CLOEXEC);
	if (to < 0 || copy(list.fd, to) < 0)
		error = errno;
	list_close(&list);
	if (error) {
		if (to >= 0)
			close(to);
		errno = error;
		return NULL;
	}
	snprintf(path, SPOOL_PATH, "/proc/self/fd/%d", to);
	return path;
}

const char *
spool_error(int error)
{
	if (error == EFBIG)
		return "more than 64 MiB, which would be kept in memory: give a list of this size "
		       "as a file";
	if (error == EINTR)
		return "stopped before all of it was read";
	return strerror(error);
}
