/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "escort.h"
#include "fd.h"
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

static int
report(struct watch *watch)
{
	const struct moment *from = watch->out.running ? &watch->start : &watch->last;
	struct moment now;

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

static int
outcome(const struct watch *watch, const struct escort *escort, enum escort_state state)
{
	if (state == ESCORT_LIMIT)
		return STATUS_UNKNOWN;
	if (state == ESCORT_ENDED)
		return child_status(escort->wait_status);
	diag_error("the command does not end, and goes on without us: process %d",
	    (int)watch->child);
	return 128 + escort->signal;
}

/*
 * Waits for the command. What it reads in its last moments, when it was asked to end, counts
 * too. And an estimate finds what it did in what we did, once it has been waited for: what a
 * dead process did may be told to root only.
 */
static void
see_out(struct watch *watch)
{
	struct escort escort;
	enum escort_state state;

	if (!watch->child)
		return;
	escort_begin(&escort, watch->child, watch->child_fd);
	while ((state = escort_wait(&escort, stop_now() + TIDY_INTERVAL)) == ESCORT_WAITS)
		meter_tidy(&watch->meter);
	escort_end(&escort);
	watch->outcome = outcome(watch, &escort, state);
	watch->child = 0;
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
		if (!on)
			see_out(watch);
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

/* Why no descriptor can be had of process PID; errno. */
static void
explain_pidfd(pid_t pid)
{
	int error = errno;

	/* of a thread other than the first: EINVAL, and ENOENT from Linux 6.15 on */
	if ((error == EINVAL || error == ENOENT) && (kill(pid, 0) == 0 || errno == EPERM))
		diag_error("process %d: a thread; --pid takes the process that it is of", (int)pid);
	else if (error == ENOSYS || error == EPERM)
		diag_error("process %d: pidfd_open: %s (it needs Linux 5.3, and a sandbox that "
			   "allows it)",
		    (int)pid, strerror(error));
	else if (error == EMFILE || error == ENFILE)
		diag_error("process %d: pidfd_open: %s (ulimit -n may allow more)", (int)pid,
		    strerror(error));
	else
		diag_error("process %d: %s", (int)pid, strerror(error));
}

/* Has process PID, of which FD is a descriptor, and what it has started be counted. */
static int
aim_at(struct watch *watch, pid_t pid, int fd)
{
	if (fd < 0) {
		explain_pidfd(pid);
		return -1;
	}
	if (meter_target(&watch->meter, pid) == 0)
		return 0;
	if (errno == ENOENT)
		diag_error("cannot follow process %d: /proc: %s (it must be mounted: the children "
			   "of a process are found there)",
		    (int)pid, strerror(errno));
	else if (errno == EACCES && watch->meter.probe)
		diag_error("cannot follow process %d: /proc hides others' processes (hidepid): it "
			   "takes CAP_SYS_PTRACE, or the group that its gid= names",
		    (int)pid);
	else
		diag_error("process %d: %s", (int)pid, strerror(errno));
	return -1;
}

int
watch_process(struct watch *watch, pid_t pid)
{
	int fd = child_pidfd(pid), status;

	if (aim_at(watch, pid, fd) < 0) {
		fd_close(fd);
		return STATUS_UNKNOWN;
	}
	status = begin(watch);
	if (status == STATUS_DONE)
		status = keep_watch(watch, fd);
	close(fd);
	return status;
}

/* Starts the command, which waits for *GO. */
static int
start_command(struct watch *watch, char **command, int *go)
{
	watch->child = child_start(command, go);
	if (watch->child < 0) {
		diag_file(command[0], errno);
		return STATUS_FAILED;
	}
	watch->child_fd = child_pidfd(watch->child);
	if (aim_at(watch, watch->child, watch->child_fd) < 0) {
		close(*go);
		return STATUS_UNKNOWN;
	}
	return STATUS_DONE;
}

/* Runs the command from its start to its end. Its status is ours. */
int
watch_command(struct watch *watch, char **command)
{
	int go, status = start_command(watch, command, &go);

	if (status == STATUS_DONE)
		status = begin(watch);
	if (status != STATUS_DONE || child_release(go) < 0)
		return status != STATUS_DONE ? status : STATUS_FAILED;
	status = keep_watch(watch, watch->child_fd);
	see_out(watch); /* where the count was reached before */
	close(watch->child_fd);
	return status == STATUS_DONE ? watch->outcome : status;
}
