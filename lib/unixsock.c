/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unixsock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

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

/* What goes beside a packet. */
union control {
	char bytes[CMSG_SPACE(sizeof(int) * UNIXSOCK_TOGETHER)];
	struct cmsghdr head; /* aligns it */
};

int
unixsock_send(int fd, const void *packet, size_t size, const int *fds, size_t count, int flags)
{
	struct iovec part = { (void *)packet, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { { 0 } };
	ssize_t n;

	if (count > UNIXSOCK_TOGETHER) {
		errno = EINVAL;
		return -1;
	}
	if (count > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof *fds);
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof *fds);
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
	}
	n = sendmsg(fd, &message, flags | MSG_NOSIGNAL);
	if (n >= 0 && (size_t)n != size)
		errno = EMSGSIZE;
	return n >= 0 && (size_t)n == size ? 0 : -1;
}

/* The descriptors that came with MESSAGE. */
static int
take_descriptors(struct msghdr *message, int *fds)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	size_t bytes;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return 0;
	bytes = head->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(head), bytes);
	return (int)(bytes / sizeof *fds);
}

int
unixsock_receive(int fd, void *packet, size_t size, int *fds, size_t most)
{
	struct iovec part = { packet, size };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(most * sizeof *fds), /* padding would be more room */
	};
	ssize_t n;
	int count;

	if (most > UNIXSOCK_TOGETHER) {
		errno = EINVAL;
		return -1;
	}
	n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -1;
	count = take_descriptors(&message, fds);
	if ((size_t)n == size && !(message.msg_flags & MSG_TRUNC))
		return count;
	while (count > 0)
		close(fds[--count]);
	errno = EPROTO;
	return -1;
}
