/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "diag.h"
#include "journal.h"
#include "status.h"
#include "stop.h"

/* A terminal that goes away ends what runs in it; what has none may use the signal. */
static int
divert(struct service *service)
{
	static const int signals[] = { SIGUSR1, SIGHUP };

	service->reloads = service->options.detach || notify_heard(&service->notify);
	return stop_divert(-1, signals, service->reloads ? 2 : 1);
}

int
service_divert_ends(struct service *service)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	return stop_divert(service->signals, signals, 3) < 0 ? -1 : 0;
}

static void
explain_pidfile(const char *path, pid_t holder)
{
	if (errno == EWOULDBLOCK && holder)
		diag_error("%s: process %ld runs with this pid file: end it (kill %ld), or name "
			   "another file",
		    path, (long)holder, (long)holder);
	else if (errno == EWOULDBLOCK)
		diag_error("%s: another process has this pid file locked: end it, or name another "
			   "file",
		    path);
	else if (errno == EEXIST)
		diag_error("%s: process %ld, which is named there, runs and has not locked it: it "
			   "is another program's; name another file",
		    path, (long)holder);
	else if (errno == EINVAL || errno == ELOOP)
		diag_error("%s: something else is there, not a pid file of ours: remove it, or "
			   "name another file",
		    path);
	else if (errno == EINTR)
		diag_error("%s: stopped while another process has it locked", path);
	else
		diag_file(path, errno);
}

static int
take_pidfile(struct service *service)
{
	const char *path = service->options.pidfile;
	pid_t holder;

	if (!path)
		return 0;
	if (pidfile_take(&service->pidfile, path, &holder) < 0) {
		explain_pidfile(path, holder);
		return -1;
	}
	if (inquiry_listen(&service->inquiry, path) == 0)
		return 0;
	if (errno == ENAMETOOLONG) {
		diag_error("%s: too long, from the root on, for a socket beside it: %zu bytes at "
			   "most",
		    path, INQUIRY_MOST);
		return -1;
	}
	/* some file systems have no sockets */
	diag_error("%s" INQUIRY_SUFFIX ": %s: it cannot be asked by --status", path,
	    strerror(errno));
	return 0;
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
		diag_error("the environment cannot be read: %s", strerror(errno));
		return false;
	}
	told = options->detach ? detach_begin(&service->detach, status) : 0;
	if (told < 0)
		diag_error("no process can be made for the background: %s", strerror(errno));
	if (told != 0)
		return false;
	stop_catch(options->timeout);
	if (options->endures)
		stop_ignore_pipe();
	service->signals = divert(service);
	if (service->signals < 0)
		diag_error("signals cannot be read (signalfd): %s", strerror(errno));
	else if (take_pidfile(service) == 0)
		return true;
	*status = service_end(service, stop_status(*status));
	return false;
}

void
service_tell_ready(struct service *service, const char *text)
{
	bool unheard = notify_ready(&service->notify, text) < 0;

	if (unheard && !service->unheard)
		journal_tell(LOG_ERR,
		    "the service manager (NOTIFY_SOCKET) cannot be told: %s; it is tried again",
		    strerror(errno));
	service->unheard = unheard;
}

int
service_ready(struct service *service, const char *text, int status)
{
	if (service->detach.caller >= 0) {
		if (detach_settle(&service->detach, service->options.stay) < 0) {
			diag_error("cannot go on in the background: %s", strerror(errno));
			return -1;
		}
		/* whoever called and did not wait wants none of it */
		if (detach_tell(&service->detach, status) < 0)
			return -1;
	}
	service_tell_ready(service, text);
	return 0;
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
