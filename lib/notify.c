/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "diag.h"
#include "fd.h"
#include "num.h"
#include "stop.h"
#include "unixsock.h"

/* What the variable NAME holds, to be freed; it is gone then. NULL where it is not set. */
static char *
take(const char *name, bool *failed)
{
	const char *value = getenv(name);
	char *copy = NULL;

	if (value && *value) {
		copy = strdup(value);
		*failed |= !copy;
	}
	unsetenv(name);
	return copy;
}

/* The manager may have meant another process than us: that of WATCHDOG_PID. */
static uint64_t
watchdog(const char *microseconds, const char *pid)
{
	uint64_t interval, number;

	if (!microseconds || num_count(microseconds, &interval) < 0 || interval > UINT64_MAX / 1000)
		return 0;
	if (pid && (num_count(pid, &number) < 0 || number != (uint64_t)getpid()))
		return 0;
	return interval * 1000;
}

static bool
is_address(const char *path)
{
	return (*path == '/' || *path == '@') && path[1] && strlen(path) <= UNIXSOCK_MOST;
}

int
notify_begin(struct notify *notify)
{
	bool failed = false;
	char *microseconds = take("WATCHDOG_USEC", &failed);
	char *pid = take("WATCHDOG_PID", &failed);

	*notify = (struct notify){ .socket = take("NOTIFY_SOCKET", &failed) };
	if (!failed && notify->socket && !is_address(notify->socket)) {
		diag_error("NOTIFY_SOCKET is \"%s\", which is no Unix socket's path or name: the "
			   "service manager is not told",
		    notify->socket);
		free(notify->socket);
		notify->socket = NULL;
	}
	if (!failed && notify->socket)
		notify->interval = watchdog(microseconds, pid);
	free(microseconds);
	free(pid);
	if (failed)
		errno = ENOMEM;
	return failed ? -1 : 0;
}

void
notify_end(struct notify *notify)
{
	free(notify->socket);
	*notify = (struct notify){ 0 };
}

bool
notify_heard(const struct notify *notify)
{
	return notify->socket != NULL;
}

static int
send_to(const char *path, const char *text)
{
	int fd = unixsock_connect(path, SOCK_DGRAM, 0);
	ssize_t sent;

	if (fd < 0)
		return -1;
	sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
	fd_close(fd);
	return sent < 0 ? -1 : 0;
}

/* A line a variable; one that a text brings in would be another. */
static int __attribute__((format(printf, 2, 3)))
tell(const struct notify *notify, const char *format, ...)
{
	va_list arguments;
	char *text;
	int result;

	if (!notify->socket)
		return 0;
	va_start(arguments, format);
	result = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (result < 0)
		return -1;
	result = send_to(notify->socket, text);
	free(text);
	return result;
}

int
notify_ready(const struct notify *notify, const char *text)
{
	/* the process that was started, and is waited for, may be gone: --detach */
	return tell(notify, "READY=1\nMAINPID=%ld\nSTATUS=%.*s", (long)getpid(),
	    (int)strcspn(text, "\n"), text);
}

int
notify_extend(const struct notify *notify, uint64_t time)
{
	return tell(notify, "EXTEND_TIMEOUT_USEC=%llu", (unsigned long long)time / 1000);
}

int
notify_status(const struct notify *notify, const char *text)
{
	return tell(notify, "STATUS=%.*s", (int)strcspn(text, "\n"), text);
}

int
notify_alive(const struct notify *notify)
{
	return tell(notify, "WATCHDOG=1");
}

int
notify_stopping(const struct notify *notify)
{
	return tell(notify, "STOPPING=1");
}

int
notify_reloading(const struct notify *notify)
{
	/* Type=notify-reload asks for the time */
	return tell(notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)stop_now() / 1000);
}
