/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oomscore.h"

#include <fcntl.h>
#include <unistd.h>

#include "fd.h"

int
oomscore_volunteer(void)
{
	int fd = open(OOMSCORE_PATH, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, "1000", 4);
	fd_close(fd);
	return n == 4 ? 0 : -1;
}
