/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share_orders.h"

#include <errno.h>

#include "unixsock.h"

_Static_assert(SHARE_TOGETHER <= UNIXSOCK_TOGETHER, "all descriptors go with one request");

static int
send_whole(int fd, const void *packet, size_t size, const int *fds, size_t count)
{
	int result;

	do
		result = unixsock_send(fd, packet, size, fds, count, 0);
	while (result < 0 && errno == EINTR);
	return result;
}

static int
receive_whole(int fd, void *packet, size_t size, int *fds, size_t most)
{
	int result;

	do
		result = unixsock_receive(fd, packet, size, fds, most);
	while (result < 0 && errno == EINTR);
	return result;
}

int
share_send_request(int fd, const struct share_request *request, const int *fds)
{
	return send_whole(fd, request, sizeof *request, fds, fds ? request->count : 0);
}

int
share_send_reply(int fd, const struct share_reply *reply)
{
	return send_whole(fd, reply, sizeof *reply, NULL, 0);
}

int
share_receive_request(int fd, struct share_request *request, int fds[SHARE_TOGETHER])
{
	return receive_whole(fd, request, sizeof *request, fds, SHARE_TOGETHER);
}

int
share_receive_reply(int fd, struct share_reply *reply)
{
	return receive_whole(fd, reply, sizeof *reply, NULL, 0);
}
