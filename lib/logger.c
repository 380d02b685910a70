/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "logger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "esc.h"

#define PATIENCE 2 /* seconds */

static int
connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE };
	int fd, error;

	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

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
logger_send(const char *socket, int priority, const char *tag, const char *text)
{
	size_t length;
	ssize_t sent;
	char *datagram;
	int fd, error;

	fd = connect_to(socket);
	if (fd < 0)
		return -1;
	datagram = compose(priority, tag, text, &length);
	sent = datagram ? send(fd, datagram, length, MSG_NOSIGNAL) : -1;
	error = errno == EAGAIN ? ETIMEDOUT : errno;
	free(datagram);
	close(fd);
	errno = error;
	return sent < 0 ? -1 : 0;
}
