/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "logger.h"

#include <errno.h>
#include <stdbool.h>
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

/* The message as every log daemon reads it, to be freed: <PRI>Mon DD HH:MM:SS TAG: TEXT */
static char *
compose(int priority, const char *tag, const char *text, size_t *length)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
		"Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t now = time(NULL);
	struct tm local;
	char *message = NULL;
	FILE *stream = open_memstream(&message, length);

	if (!stream)
		return NULL;
	localtime_r(&now, &local);
	fprintf(stream, "<%d>%s %2d %02d:%02d:%02d %s: ", LOG_USER | priority, months[local.tm_mon],
	    local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, tag);
	esc_terminal(stream, text);
	if (fclose(stream) == 0)
		return message;
	free(message);
	return NULL;
}

/* Until all of it is sent. */
static int
send_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -1;
		if (sent > 0) {
			bytes += sent;
			length -= (size_t)sent;
		}
	}
	return 0;
}

static int
send_to(int fd, bool stream, int priority, const char *tag, const char *text)
{
	size_t length;
	char *message = compose(priority, tag, text, &length);
	int result;

	if (!message)
		return -1;
	/* in a stream, NUL is where a message ends, as of syslog(3) */
	result = send_all(fd, message, length + stream);
	free(message);
	return result;
}

int
logger_send(const char *socket, int priority, const char *tag, const char *text, uint64_t patience)
{
	int fd = unixsock_connect(socket, SOCK_DGRAM, patience), result = -1;
	bool stream = fd < 0 && errno == EPROTOTYPE;

	if (stream)
		fd = unixsock_connect(socket, SOCK_STREAM, patience);
	if (fd >= 0) {
		result = send_to(fd, stream, priority, tag, text);
		fd_close(fd);
	}
	if (result < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	return result;
}
