/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fd.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

void
fd_close(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

void
fd_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
