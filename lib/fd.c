/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fd.h"

#include <errno.h>
#include <unistd.h>

void
fd_close(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}
