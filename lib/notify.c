/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "num.h"
#include "stop.h"

#define PATIENT "86400000000" /* us of WATCHDOG_USEC, for a reload */

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
	struct sockaddr_un address;

	return (*path == '/' || *path == '@') && path[1] && strlen(path) < sizeof address.sun_path;
}

int
notify_begin(struct notify *notify)
{
	bool failed = false;
	char *microseconds = take("WATCHDOG_USEC", &failed);
	char *pid = take("WATCHDOG_PID", &failed);

	*notify = (struct notify){ .socket = take("NOTIFY_SOCKET", &failed) };
	if (failed)
		errno = ENOMEM;
	if (!failed && notify->socket && !is_address(notify->socket)) {
		errno = EINVAL;
		failed = true;
	}
	if (!failed && notify->socket)
		notify->interval = watchdog(microseconds, pid);
	free(microseconds);
	free(pid);
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
send_to(const char *socket_path, const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(socket_path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;
	ssize_t sent;

	if (fd < 0)
		return -1;
	memcpy(address.sun_path, socket_path, length);
	/* an abstract name begins with NUL, and ends with the address */
	if (*socket_path == '@')
		address.sun_path[0] = '\0';
	sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
	    (struct sockaddr *)&address,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	error = errno;
	close(fd);
	errno = error;
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
	if (notify->interval)
		return tell(notify, "READY=1\nMAINPID=%ld\nWATCHDOG_USEC=%llu\nSTATUS=%.*s",
		    (long)getpid(), (unsigned long long)notify->interval / 1000,
		    (int)strcspn(text, "\n"), text);
	return tell(notify, "READY=1\nMAINPID=%ld\nSTATUS=%.*s", (long)getpid(),
	    (int)strcspn(text, "\n"), text);
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
	return tell(notify, "RELOADING=1\nMONOTONIC_USEC=%llu%s",
	    (unsigned long long)stop_now() / 1000,
	    notify->interval ? "\nWATCHDOG_USEC=" PATIENT : "");
}
