/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stop.h"

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
		if (write_all(to, buffer, (size_t)n) < 0)
			return -1;
	}
}

const char *
spool_list(const char *name, char path[static SPOOL_PATH])
{
	bool standard = strcmp(name, "-") == 0;
	struct stat status;
	int from, to, failed;

	if (!standard && stat(name, &status) == 0 && S_ISREG(status.st_mode))
		return name;
	from = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return NULL;
	to = memfd_create("list", MFD_CLOEXEC);
	failed = to < 0 || copy(from, to) < 0;
	if (!standard)
		close(from);
	if (failed)
		return NULL;
	snprintf(path, SPOOL_PATH, "/proc/self/fd/%d", to);
	return path;
}
