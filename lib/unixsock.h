/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_UNIXSOCK_H
#define HOTSET_UNIXSOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Unix sockets by their path, or, behind "@", by an abstract name. */

#define UNIXSOCK_MOST (sizeof((struct sockaddr_un *)0)->sun_path - 1) /* bytes of a path */

/* -1 with ENAMETOOLONG. */
int unixsock_address(struct sockaddr_un *address, socklen_t *length, const char *path);

/*
 * A socket of TYPE that is connected to the one at PATH. What is sent and received on it waits
 * for PATIENCE ns at most, then it is EAGAIN; 0: it does not wait. -1 with errno.
 */
int unixsock_connect(const char *path, int type, uint64_t patience);

#define UNIXSOCK_TOGETHER 64 /* descriptors that travel with one packet, at most */

/* Sends a packet of SIZE bytes, and with it COUNT descriptors, which stay open here; FLAGS as of
 * sendmsg(2). 0, or -1 with errno. */
int unixsock_send(int fd, const void *packet, size_t size, const int *fds, size_t count, int flags);

/*
 * Receives a packet of SIZE bytes, and with it up to MOST descriptors, which are closed on exec.
 * Returns how many there are in FDS: fewer than were sent where no more may be open here. -1 with
 * errno, and no descriptor: EPROTO where it has another size, and at the end.
 */
int unixsock_receive(int fd, void *packet, size_t size, int *fds, size_t most);

#endif
