/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vigil.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "status.h"
#include "stop.h"

#define LOOK 100000000ULL /* ns between looks at a command without pidfd */

/* Its own, while it goes on. */
struct watch {
	struct vigil *vigil;
	int set; /* epoll */
	int command;
	uint64_t alive; /* when the manager is to hear of us next */
};

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What is not there is not waited for. */
static int
add(const struct watch *watch, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 ? 0 : epoll_ctl(watch->set, EPOLL_CTL_ADD, fd, &event);
}

/* What there is to wait for. */
static int
gather(struct watch *watch)
{
	const struct vigil *vigil = watch->vigil;

	watch->set = epoll_create1(EPOLL_CLOEXEC);
	if (watch->set >= 0 && add(watch, watch->command) == 0 && add(watch, vigil->signals) == 0 &&
	    add(watch, vigil->inquiry->path ? vigil->inquiry->fd : -1) == 0 &&
	    add(watch, keeper_fd(vigil->keeper)) == 0)
		return 0;
	diag_error("cannot wait: %s", strerror(errno));
	return -1;
}

static int
reload(struct watch *watch)
{
	struct vigil *vigil = watch->vigil;
	int status;

	notify_reloading(vigil->notify);
	status = vigil->reload(vigil->argument);
	if (status != STATUS_DONE)
		return status;
	/* a set of its own for the new keeper: where another process still has the old one's
	 * descriptor, that would stay in the set */
	close(watch->set);
	return gather(watch) < 0 ? STATUS_FAILED : STATUS_DONE;
}

/* Every signal that has come; the same one twice counts once. */
static int
take_signals(struct watch *watch)
{
	struct vigil *vigil = watch->vigil;
	struct signalfd_siginfo info;
	int status = STATUS_DONE;

	while (status == STATUS_DONE && vigil->signals >= 0 &&
	    read(vigil->signals, &info, sizeof info) == sizeof info)
		status = info.ssi_signo == SIGHUP ? reload(watch) : vigil->report(vigil->argument);
	return status;
}

/* Somebody who asks and goes away is no trouble of ours. */
static void
answer(const struct vigil *vigil)
{
	if (vigil->inquiry->path &&
	    inquiry_answer(vigil->inquiry, vigil->answer, vigil->argument) < 0)
		diag_detail("an inquiry is not answered: %s", strerror(errno));
}

/* At half of the interval, as sd_watchdog_enabled(3) asks for. */
static void
stay_alive(struct watch *watch)
{
	uint64_t now = stop_now();

	if (now < watch->alive)
		return;
	if (notify_alive(watch->vigil->notify) < 0)
		diag_detail("the service manager does not hear us: %s", strerror(errno));
	watch->alive = now + watch->vigil->notify->interval / 2;
}

/* Whether it is over, and how. */
static bool
is_over(struct watch *watch, enum vigil_end *end, int *status)
{
	struct vigil *vigil = watch->vigil;
	int ended = vigil->command < 0 ? 0 : child_poll(vigil->command, status);

	if (ended > 0)
		*end = VIGIL_ENDED;
	else if (ended < 0) {
		diag_error("the command is lost: %s", strerror(errno));
		*status = STATUS_FAILED;
		*end = VIGIL_FAILED;
	} else if (stop_asked())
		*end = VIGIL_STOPPED;
	else if (stop_now() >= vigil->until)
		*end = VIGIL_OVER;
	else
		return false;
	return true;
}

static enum vigil_end
watch_on(struct watch *watch, int *status)
{
	struct vigil *vigil = watch->vigil;
	enum vigil_end end;

	while (!is_over(watch, &end, status)) {
		uint64_t due = least(keeper_tend(vigil->keeper), vigil->until);

		*status = take_signals(watch);
		if (*status != STATUS_DONE)
			return VIGIL_FAILED;
		answer(vigil);
		stay_alive(watch);
		if (vigil->command >= 0 && watch->command < 0)
			due = least(due, stop_now() + LOOK);
		stop_sleep(least(due, watch->alive), watch->set);
	}
	return end;
}

enum vigil_end
vigil_keep(struct vigil *vigil, int *status)
{
	struct watch watch = {
		.vigil = vigil,
		.command = vigil->command < 0 ? -1 : child_pidfd(vigil->command),
		.alive = vigil->notify->interval ? stop_now() : UINT64_MAX,
	};
	enum vigil_end end = VIGIL_FAILED;

	*status = STATUS_FAILED;
	if (gather(&watch) == 0)
		end = watch_on(&watch, status);
	if (watch.command >= 0)
		close(watch.command);
	if (watch.set >= 0)
		close(watch.set);
	return end;
}
