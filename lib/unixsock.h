/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_UNIXSOCK_H
#define HOTSET_UNIXSOCK_H

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

#endif
