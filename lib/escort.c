/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escort.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "descend.h"
#include "fd.h"
#include "num.h"
#include "stop.h"

#define GRACE_NS 1000000000ULL
#define PATIENCE 2 /* signals that we are to stop by, before we do */

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };

/* 0: none. */
static int
next_signal(const struct escort *escort)
{
	struct signalfd_siginfo info;

	if (read(escort->signals, &info, sizeof info) != sizeof info)
		return 0;
	return (int)info.ssi_signo;
}

static void
pass_on(struct escort *escort, int number)
{
	if (number == SIGALRM) {
		escort->limit = true;
		return;
	}
	if (number == SIGPIPE) /* nobody reads our report: that is not the command's affair */
		return;
	kill(escort->pid, number);
	escort->signal = number;
	if (++escort->passed == PATIENCE)
		escort->leave = stop_now() + GRACE_NS;
}

void
escort_begin(struct escort *escort, pid_t pid, int pidfd)
{
	int asked = stop_asked(), number;

	*escort = (struct escort){ .pid = pid, .pidfd = pidfd, .leave = UINT64_MAX };
	escort->signals = stop_divert(-1, numbers, sizeof numbers / sizeof *numbers);
	if (asked)
		pass_on(escort, asked);
	/* the one that asked may be pending still */
	while ((number = next_signal(escort)))
		if (number != asked)
			pass_on(escort, number);
}

/* Milliseconds for poll(2), until DEADLINE has passed. */
static int
left(uint64_t deadline)
{
	uint64_t now = stop_now();

	return now < deadline ? (int)num_least((deadline - now) / 1000000 + 1, 1000) : 0;
}

/* A command and what it has started, by descriptors: numbers may be others' by the time that
 * they are signalled. */
struct family {
	struct pollfd *members;
	size_t count;
};

static int
add_member(pid_t pid, void *argument)
{
	struct family *family = argument;
	size_t size = (family->count + 1) * sizeof *family->members;
	struct pollfd *members = realloc(family->members, size);

	if (!members)
		return -1;
	family->members = members;
	members[family->count] = (struct pollfd){ .fd = child_pidfd(pid), .events = POLLIN };
	if (members[family->count].fd >= 0) /* else it has ended */
		family->count++;
	return 0;
}

static void
signal_family(const struct family *family, int number)
{
	for (size_t i = 0; i < family->count; i++)
		syscall(SYS_pidfd_send_signal, family->members[i].fd, number, NULL, 0);
}

/* Until all have ended, GRACE_NS at most; false where some have not. */
static bool
await_family(struct family *family)
{
	uint64_t deadline = stop_now() + GRACE_NS;

	for (size_t i = 0; i < family->count; i++)
		while (poll(&family->members[i], 1, left(deadline)) == 0)
			if (left(deadline) == 0)
				return false;
	return true;
}

/* One stuck in the kernel is left to init. */
static void
end_family(const struct escort *escort)
{
	struct family family = { 0 };

	/* all are known before the first ends: the children of the dead are another's */
	descend(escort->pid, add_member, &family);
	if (family.count == 0) /* without /proc */
		add_member(escort->pid, &family);
	signal_family(&family, SIGTERM);
	if (!await_family(&family)) {
		signal_family(&family, SIGKILL);
		await_family(&family);
	}
	for (size_t i = 0; i < family.count; i++)
		close(family.members[i].fd);
	free(family.members);
}

enum escort_state
escort_wait(struct escort *escort, uint64_t deadline)
{
	struct pollfd events[] = { { .fd = escort->pidfd, .events = POLLIN },
		{ .fd = escort->signals, .events = POLLIN } };
	int number;

	if (escort->limit) {
		end_family(escort);
		child_poll(escort->pid, &escort->wait_status);
		return ESCORT_LIMIT;
	}
	if (child_poll(escort->pid, &escort->wait_status) != 0)
		return ESCORT_ENDED;
	if (stop_now() >= escort->leave)
		return ESCORT_LEFT;
	poll(events, 2, left(num_least(deadline, escort->leave)));
	while ((number = next_signal(escort)))
		pass_on(escort, number);
	return ESCORT_WAITS;
}

void
escort_end(const struct escort *escort)
{
	fd_close(escort->signals);
}
