/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "logger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "esc.h"
#include "fd.h"
#include "unixsock.h"

/* The datagram as every log daemon reads it, to be freed: <PRI>Mon DD HH:MM:SS TAG: TEXT */
static char *
compose(int priority, const char *tag, const char *text, size_t *length)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
		"Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t now = time(NULL);
	struct tm local;
	char *datagram = NULL;
	FILE *stream = open_memstream(&datagram, length);

	if (!stream)
		return NULL;
	localtime_r(&now, &local);
	fprintf(stream, "<%d>%s %2d %02d:%02d:%02d %s: ", LOG_USER | priority, months[local.tm_mon],
	    local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, tag);
	esc_terminal(stream, text);
	if (fclose(stream) == 0)
		return datagram;
	free(datagram);
	return NULL;
}

int
logger_send(const char *socket, int priority, const char *tag, const char *text, uint64_t patience)
{
	int fd = unixsock_connect(socket, SOCK_DGRAM, patience);
	char *datagram;
	size_t length;
	ssize_t sent;

	if (fd < 0)
		return -1;
	datagram = compose(priority, tag, text, &length);
	sent = datagram ? send(fd, datagram, length, MSG_NOSIGNAL) : -1;
	free(datagram);
	fd_close(fd);
	if (sent < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	return sent < 0 ? -1 : 0;
}
