/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vigil.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "journal.h"
#include "num.h"
#include "status.h"
#include "stop.h"

#define LOOK   100000000ULL   /* ns between looks at what cannot be waited for */
#define REMIND 200000000ULL   /* between tries to reach the manager */
#define EXTEND 10000000000ULL /* between requests for more time, of which each asks for */
#define MORE   60000000000ULL

/* --- the command */

int
vigil_start(struct vigil *vigil, char **argv)
{
	vigil->command = child_start(argv, &vigil->go);
	if (vigil->command < 0) {
		diag_error("%s: no process can be made for it: %s", argv[0], strerror(errno));
		return -1;
	}
	vigil->pidfd = child_pidfd(vigil->command);
	return 0;
}

/* Looks whether it has ended. */
static void
look_at_command(struct vigil *vigil)
{
	int wait_status, ended = vigil->command < 0 ? 0 : child_poll(vigil->command, &wait_status);

	if (ended == 0)
		return;
	vigil->command = -1;
	vigil->status = ended > 0 ? child_status(wait_status) : STATUS_FAILED;
	if (ended < 0)
		journal_tell(LOG_ERR, "the command is lost: %s", strerror(errno));
}

/* A terminal sends its own to the command itself, which is in the same group. */
static void
pass_on(const struct vigil *vigil, const struct signalfd_siginfo *info)
{
	if (vigil->command > 0 && info->ssi_code != SI_KERNEL)
		kill(vigil->command, (int)info->ssi_signo);
}

/* From now on the signals that end are its affair. -1: it does not run, said why. */
static int
let_go(struct vigil *vigil)
{
	if (service_divert_ends(vigil->service) < 0) {
		diag_error("signals cannot be passed on to the command: %s", strerror(errno));
		return -1;
	}
	/* one that came before is obeyed */
	if (stop_asked())
		return -1;
	if (child_release(vigil->go) < 0)
		diag_error("the command was killed before it began");
	vigil->go = -1;
	return 0;
}

/* The time is over: it is to end; all is let go before, since that may take a while. */
static void
end_command(struct vigil *vigil)
{
	int wait_status, ended;

	keeper_release(vigil->holding->keeper);
	if (vigil->command < 0)
		return; /* it has ended meanwhile */
	ended = child_end(vigil->command, &wait_status);
	vigil->command = -1;
	vigil->status = ended > 0 ? child_status(wait_status) : STATUS_FAILED;
	if (ended == 0)
		diag_error("the command does not end, not even by SIGKILL");
	else if (ended < 0)
		diag_error("the command is lost: %s", strerror(errno));
}

/* --- what there is to do */

/* What is not there is not waited for. */
static int
add(const struct vigil *vigil, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 ? 0 : epoll_ctl(vigil->set, EPOLL_CTL_ADD, fd, &event);
}

/*
 * What there is to wait for, anew: where another process still has the descriptor of a keeper that
 * is gone, that would stay in the old set. Without a set there are looks.
 */
static void
gather(struct vigil *vigil)
{
	const struct service *service = vigil->service;

	if (vigil->set >= 0)
		close(vigil->set);
	vigil->set = epoll_create1(EPOLL_CLOEXEC);
	if (vigil->set >= 0 && add(vigil, vigil->pidfd) == 0 && add(vigil, service->signals) == 0 &&
	    add(vigil, service->inquiry.fd) == 0 &&
	    add(vigil, keeper_fd(vigil->holding->keeper)) == 0)
		return;
	journal_tell(LOG_WARNING,
	    "events cannot be waited for (epoll): %s; there is a look at them "
	    "ten times a second",
	    strerror(errno));
	if (vigil->set >= 0)
		close(vigil->set);
	vigil->set = -1;
}

/* Every signal that has come; the same one twice counts once. */
static void
take_signals(struct vigil *vigil)
{
	const struct service *service = vigil->service;
	struct signalfd_siginfo info;

	while (read(service->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGUSR1)
			holding_report_again(vigil->holding);
		else if (info.ssi_signo == SIGHUP && service->reloads)
			vigil->reload = true;
		else
			pass_on(vigil, &info);
	}
}

/* Somebody who asks and goes away is no trouble of ours. */
static void
answer(const struct vigil *vigil)
{
	struct inquiry *inquiry = &vigil->service->inquiry;

	if (inquiry->path && vigil->holding->keeper &&
	    inquiry_answer(inquiry, holding_answer, vigil->holding) < 0)
		diag_detail("an inquiry is not answered: %s", strerror(errno));
}

static void
try_to_tell(int result)
{
	if (result < 0)
		diag_detail("the service manager does not hear us: %s", strerror(errno));
}

/* That we are alive at half of the interval, as sd_watchdog_enabled(3) asks for. */
static void
tell_manager(struct vigil *vigil)
{
	struct service *service = vigil->service;
	uint64_t now = stop_now();
	char words[HOLD_WORDS];

	if (vigil->begun && now >= vigil->alive) {
		try_to_tell(notify_alive(&service->notify));
		vigil->alive = now + service->notify.interval / 2;
	}
	if ((!vigil->begun || vigil->reload) && now >= vigil->extended) {
		try_to_tell(notify_extend(&service->notify, MORE));
		vigil->extended = now + EXTEND;
	}
	if (vigil->begun && !vigil->reload && service->unheard && now >= vigil->reminded) {
		holding_words(vigil->holding, words);
		service_tell_ready(service, words);
		vigil->reminded = now + REMIND;
	}
}

static bool
is_over(struct vigil *vigil)
{
	return vigil->status >= 0 || stop_asked() || stop_now() >= vigil->until;
}

bool
vigil_breathe(void *argument)
{
	struct vigil *vigil = argument;

	if (vigil->begun) {
		take_signals(vigil);
		look_at_command(vigil);
	}
	answer(vigil);
	tell_manager(vigil);
	return !is_over(vigil);
}

/* --- the wait */

static int
reload(struct vigil *vigil)
{
	struct service *service = vigil->service;
	char words[HOLD_WORDS];
	int result;

	try_to_tell(notify_reloading(&service->notify));
	vigil->extended = 0;
	result = holding_reload(vigil->holding);
	vigil->reload = false;
	gather(vigil);
	holding_words(vigil->holding, words);
	service_tell_ready(service, words);
	return result;
}

/* When it goes on at the latest. */
static uint64_t
due(const struct vigil *vigil, uint64_t tended)
{
	uint64_t next = num_least(num_least(tended, vigil->until), vigil->alive);
	bool blind = vigil->set < 0 || (vigil->command > 0 && vigil->pidfd < 0);

	if (blind)
		next = num_least(next, stop_now() + LOOK);
	return vigil->service->unheard ? num_least(next, vigil->reminded) : next;
}

/* Until it is over; false where what was held is lost, and there is nothing to wait for. */
static bool
watch_on(struct vigil *vigil)
{
	while (vigil_breathe(vigil)) {
		uint64_t tended;

		if (vigil->reload && reload(vigil) < 0 && vigil->command < 0)
			return false;
		tended = keeper_tend(vigil->holding->keeper);
		if (!is_over(vigil) && !vigil->reload)
			stop_sleep(due(vigil, tended), vigil->set);
	}
	return true;
}

void
vigil_begin(struct vigil *vigil, struct holding *holding, struct service *service)
{
	*vigil = (struct vigil){
		.holding = holding,
		.service = service,
		.command = -1,
		.go = -1,
		.pidfd = -1,
		.status = -1,
		.set = -1,
		.until = UINT64_MAX,
		.alive = service->notify.interval ? 0 : UINT64_MAX,
	};
}

/* All was pinned, and is. */
static int
outcome(const struct vigil *vigil)
{
	const struct holding *holding = vigil->holding;
	bool whole = !holding->keeper->partial && holding_standing(holding) == STATUS_DONE;

	return whole ? STATUS_DONE : STATUS_PART;
}

int
vigil_keep(struct vigil *vigil, uint64_t time)
{
	struct holding *holding = vigil->holding;
	char words[HOLD_WORDS];
	bool held;

	if (stop_asked())
		return vigil->command > 0 ? STATUS_FAILED : outcome(vigil);
	holding_words(holding, words);
	if (service_ready(vigil->service, words, holding_standing(holding)) < 0 ||
	    (vigil->command > 0 && let_go(vigil) < 0))
		return STATUS_FAILED;
	diag_hurry();
	vigil->begun = true;
	vigil->until = num_sum(stop_now(), time);
	gather(vigil);
	held = watch_on(vigil);
	if (vigil->command > 0)
		end_command(vigil);
	if (vigil->status >= 0)
		return vigil->status;
	return held ? outcome(vigil) : STATUS_FAILED;
}

void
vigil_end(struct vigil *vigil)
{
	if (vigil->go >= 0)
		close(vigil->go);
	if (vigil->command > 0)
		child_wait(vigil->command, &(int){ 0 });
	if (vigil->pidfd >= 0)
		close(vigil->pidfd);
	if (vigil->set >= 0)
		close(vigil->set);
	vigil->go = vigil->pidfd = vigil->set = -1;
	vigil->command = -1;
}
