/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "status.h"
#include "stop.h"

#define TIDY_INTERVAL 200000000ULL

static int
take_moment(struct watch *watch, struct moment *moment)
{
	if (interval_moment(&watch->meter, moment) == 0)
		return 0;
	diag_error("cannot read the counters: %s", strerror(errno));
	return -1;
}

/* An estimate finds what the command did in what we did, once we have waited for it: what a
 * dead process did may be told to root only. */
static void
wait_for_estimate(struct watch *watch)
{
	if (watch->child && !watch->meter.probe &&
	    child_poll(watch->child, &watch->wait_status) == 1)
		watch->child = 0;
}

static int
report(struct watch *watch)
{
	const struct moment *from = watch->out.running ? &watch->start : &watch->last;
	struct moment now;

	wait_for_estimate(watch);
	if (take_moment(watch, &now) < 0)
		return STATUS_FAILED;
	if (interval_row(&watch->out, &watch->meter, from, &now) < 0 || out_commit(&watch->out) < 0)
		return out_explain(&watch->out);
	watch->last = now;
	return STATUS_DONE;
}

/* Sleeps as stop_sleep does, and keeps room in the ledger meanwhile: a walk over small
 * files takes a new entry for each of them. */
static bool
sleep_until(struct watch *watch, uint64_t deadline, int fd)
{
	uint64_t next;

	do {
		meter_tidy(&watch->meter);
		next = stop_now() + TIDY_INTERVAL;
	} while (next < deadline && stop_sleep(next, fd));
	return next >= deadline && stop_sleep(deadline, fd);
}

/* The end of the interval that began at the last DEADLINE; those that passed while we were
 * stopped are skipped. */
static uint64_t
next_deadline(uint64_t deadline, uint64_t interval)
{
	uint64_t now = stop_now();

	if (!interval)
		return UINT64_MAX;
	if (now > deadline && now - deadline > interval)
		deadline += (now - deadline) / interval * interval;
	return interval > UINT64_MAX - deadline ? UINT64_MAX : deadline + interval;
}

/* Reports each interval until the count is reached, the process watched by FD has
 * ended or a signal stops us; what was begun is reported too. */
static int
keep_watch(struct watch *watch, int fd)
{
	uint64_t deadline = watch->start.at, count = 0;
	bool on = true;
	int status;

	while (on) {
		deadline = next_deadline(deadline, watch->interval);
		on = sleep_until(watch, deadline, fd);
		if ((status = report(watch)) != STATUS_DONE)
			return status;
		if (++count == watch->count)
			break;
	}
	return STATUS_DONE;
}

static int
begin(struct watch *watch)
{
	meter_start(&watch->meter);
	if (take_moment(watch, &watch->start) < 0)
		return STATUS_FAILED;
	watch->last = watch->start;
	meter_describe(&watch->meter); /* whoever reads it knows that counting has begun */
	return STATUS_DONE;
}

int
watch_machine(struct watch *watch)
{
	int status = begin(watch);

	return status == STATUS_DONE ? keep_watch(watch, -1) : status;
}

int
watch_process(struct watch *watch, pid_t pid)
{
	int fd = child_pidfd(pid), status;

	if (fd < 0 && errno != ESRCH && kill(pid, 0) == 0) {
		diag_error("process %d: a thread; --pid takes the process that it is of", (int)pid);
		return STATUS_UNKNOWN;
	}
	if (fd < 0 || meter_target(&watch->meter, pid) < 0) {
		diag_error("process %d: %s", (int)pid, strerror(errno));
		return STATUS_UNKNOWN;
	}
	status = begin(watch);
	if (status == STATUS_DONE)
		status = keep_watch(watch, fd);
	close(fd);
	return status;
}

/* The command's status is ours; where we were stopped, so is it. */
static int
end_command(struct watch *watch, int status)
{
	if (watch->child && stop_asked() == SIGALRM) {
		child_end(watch->child, &watch->wait_status);
		return status == STATUS_DONE ? STATUS_UNKNOWN : status;
	}
	if (watch->child && stop_asked())
		kill(watch->child, stop_asked());
	if (watch->child && child_wait(watch->child, &watch->wait_status) < 0)
		return STATUS_FAILED;
	return status == STATUS_DONE ? child_status(watch->wait_status) : status;
}

/* Runs the command from its start to its end. */
int
watch_command(struct watch *watch, char **command)
{
	int go, status, fd;

	watch->child = child_start(command, &go);
	if (watch->child < 0) {
		diag_file(command[0], errno);
		return STATUS_FAILED;
	}
	fd = child_pidfd(watch->child);
	if (fd < 0 || meter_target(&watch->meter, watch->child) < 0) {
		diag_error("cannot follow the command: %s", strerror(errno));
		close(go);
		return STATUS_FAILED;
	}
	status = begin(watch);
	if (status != STATUS_DONE || child_release(go) < 0)
		return STATUS_FAILED;
	return end_command(watch, keep_watch(watch, fd));
}
