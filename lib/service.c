/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "status.h"
#include "stop.h"

/* A terminal that goes away ends what runs in it; what has none may use the signal. */
static int
divert(const struct service *service)
{
	static const int signals[] = { SIGUSR1, SIGHUP };
	bool reloads = service->options.detach || notify_heard(&service->notify);

	return stop_divert(signals, reloads ? 2 : 1);
}

static int
take_pidfile(struct service *service)
{
	const char *path = service->options.pidfile;
	pid_t holder;

	if (!path)
		return 0;
	if (pidfile_take(&service->pidfile, path, &holder) < 0) {
		if (errno == EWOULDBLOCK && holder)
			diag_error("%s: process %ld runs with this pid file", path, (long)holder);
		else if (errno == EWOULDBLOCK)
			diag_error("%s: another process runs with this pid file", path);
		else if (errno == EINVAL || errno == ELOOP)
			diag_error("%s: something else is there, not a pid file", path);
		else
			diag_file(path, errno);
		return -1;
	}
	if (inquiry_listen(&service->inquiry, path) == 0)
		return 0;
	if (errno == ENAMETOOLONG)
		diag_error("%s: too long, from the root on, for a socket beside it", path);
	else
		diag_error("%s.sock: %s", path, strerror(errno));
	return -1;
}

bool
service_begin(struct service *service, const struct service_options *options, int *status)
{
	int told;

	*service = (struct service){
		.options = *options,
		.detach.caller = -1,
		.inquiry.fd = -1,
		.signals = -1,
	};
	*status = STATUS_FAILED;
	if (notify_begin(&service->notify) < 0) {
		diag_error("NOTIFY_SOCKET: %s", strerror(errno));
		return false;
	}
	told = options->detach ? detach_begin(&service->detach, status) : 0;
	if (told < 0)
		diag_error("cannot start: %s", strerror(errno));
	if (told != 0)
		return false;
	stop_catch(options->timeout);
	service->signals = divert(service);
	if (service->signals < 0)
		diag_error("cannot start: %s", strerror(errno));
	else if (take_pidfile(service) == 0)
		return true;
	service_end(service, *status);
	return false;
}

int
service_ready(struct service *service, const char *text, int status)
{
	if (notify_ready(&service->notify, text) < 0)
		diag_error("the service manager (NOTIFY_SOCKET) cannot be told: %s",
		    strerror(errno));
	if (service->detach.caller < 0)
		return 0;
	if (detach_settle(&service->detach, service->options.stay) < 0) {
		diag_error("cannot go on in the background: %s", strerror(errno));
		return -1;
	}
	/* whoever called and did not wait wants none of it */
	return detach_tell(&service->detach, status);
}

void
service_stopping(struct service *service)
{
	if (!service->stopping)
		notify_stopping(&service->notify);
	service->stopping = true;
}

int
service_end(struct service *service, int status)
{
	inquiry_close(&service->inquiry);
	pidfile_drop(&service->pidfile);
	if (service->signals >= 0)
		close(service->signals);
	detach_tell(&service->detach, status);
	notify_end(&service->notify);
	return status;
}
