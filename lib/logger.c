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
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	char *datagram = NULL;
	FILE *stream = open_memstream(&datagram, length);

	if (!stream)
		return NULL;
	localtime_r(&now, &local);
	/* not in anybody's locale: no tool sets one */
	strftime(stamp, sizeof stamp, "%b %e %H:%M:%S", &local);
	fprintf(stream, "<%d>%s %s: ", LOG_USER | priority, stamp, tag);
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
