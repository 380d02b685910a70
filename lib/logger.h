/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LOGGER_H
#define HOTSET_LOGGER_H

#include <stdint.h>

#define LOGGER_SOCKET "/dev/log"

/*
 * Hands one message to the system log at SOCKET, with TAG, PRIORITY (of <syslog.h>)
 * and facility user. Unlike syslog(3) it says where nobody took the message, -1 with
 * errno, and waits no more than PATIENCE ns for a log daemon that is stuck (ETIMEDOUT). Control
 * characters are escaped. The socket may be one of datagrams or a stream.
 */
int
logger_send(const char *socket, int priority, const char *tag, const char *text, uint64_t patience);

#endif
