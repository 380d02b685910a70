/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unixsock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>

#include "fd.h"

#define NSEC 1000000000ULL
#define USEC 1000ULL /* in ns */

int
unixsock_address(struct sockaddr_un *address, socklen_t *length, const char *path)
{
	size_t size = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (size > UNIXSOCK_MOST) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address->sun_path, path, size);
	/* an abstract name begins with NUL, and ends with the address */
	if (*path == '@')
		address->sun_path[0] = '\0';
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	return 0;
}

/* Never 0, which is for ever. */
static int
set_patience(int fd, uint64_t patience)
{
	struct timeval time = {
		.tv_sec = (time_t)(patience / NSEC),
		.tv_usec = (suseconds_t)(patience % NSEC / USEC) + 1,
	};

	if (time.tv_usec == (suseconds_t)(NSEC / USEC))
		time = (struct timeval){ .tv_sec = time.tv_sec + 1 };
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) < 0)
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int
unixsock_connect(const char *path, int type, uint64_t patience)
{
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	if (unixsock_address(&address, &length, path) < 0)
		return -1;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | (patience ? 0 : SOCK_NONBLOCK), 0);
	if (fd < 0)
		return -1;
	if ((!patience || set_patience(fd, patience) == 0) &&
	    connect(fd, (struct sockaddr *)&address, length) == 0)
		return fd;
	fd_close(fd);
	return -1;
}
