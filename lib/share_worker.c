/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Changes on their way back. */
struct changes {
	int fd;
	struct share_reply reply;
	bool failed;
};

static void
note_change(uint32_t number, uint64_t seen, void *argument)
{
	struct changes *changes = argument;
	struct share_reply *reply = &changes->reply;

	if (reply->count == SHARE_TOGETHER) {
		reply->more = true;
		changes->failed |= share_send_reply(changes->fd, reply) < 0;
		reply->count = 0;
	}
	reply->items[reply->count].number = number;
	reply->items[reply->count++].seen = seen;
}

static int
measure_all(int fd, struct pins *pins)
{
	struct changes changes = { .fd = fd };

	changes.reply.unknown = pins_measure(pins, note_change, &changes) < 0;
	changes.reply.more = false;
	return changes.failed ? -1 : share_send_reply(fd, &changes.reply);
}

/* Descriptors that did not come (too many are open) fail as such. */
static enum pin_failure
obey_one(struct pins *pins, const struct share_request *request, uint32_t i, int fd,
    struct share_reply *reply)
{
	struct pin_what what = request->items[i].what;
	uint32_t number = request->items[i].number;

	reply->items[i].length = request->items[i].length;
	what.fd = fd;
	errno = EMFILE;
	switch (request->order) {
	case SHARE_ADD:
		return fd < 0
		    ? PIN_ERROR
		    : pins_add(pins, &what, &reply->items[i].length, &reply->items[i].number);
	case SHARE_RESIZE:
		return pins_resize(pins, number, &reply->items[i].length, &reply->items[i].seen);
	case SHARE_LOOK:
		reply->items[i].seen = pins_look(pins, number, &reply->items[i].first);
		break;
	case SHARE_RESTORE:
		return pins_restore(pins, number, request->items[i].length);
	case SHARE_DROP:
		pins_drop(pins, number);
		break;
	case SHARE_MEASURE:
		break;
	}
	return PIN_DONE;
}

static bool
add_together(struct pins *pins, const struct share_request *request, const int *fds,
    struct share_reply *reply)
{
	struct pin_what whats[SHARE_TOGETHER];
	uint32_t numbers[SHARE_TOGETHER];

	for (uint32_t i = 0; i < request->count; i++) {
		whats[i] = request->items[i].what;
		whats[i].fd = fds[i];
	}
	if (!pins_add_together(pins, whats, request->count, numbers))
		return false;
	for (uint32_t i = 0; i < request->count; i++) {
		reply->items[i].failure = PIN_DONE;
		reply->items[i].error = 0;
		reply->items[i].number = numbers[i];
		reply->items[i].length = whats[i].length;
	}
	return true;
}

void
share_obey(struct pins *pins, const struct share_request *request, const int *fds, int fd_count,
    struct share_reply *reply)
{
	reply->count = request->count;
	if (request->order == SHARE_ADD && request->count > 1 && fd_count == (int)request->count &&
	    add_together(pins, request, fds, reply))
		return;
	for (uint32_t i = 0; i < request->count; i++) {
		reply->items[i].failure = obey_one(pins, request, i,
		    (int)i < fd_count ? fds[i] : -1, reply);
		reply->items[i].error = errno;
	}
}

static void
serve(int fd, const atomic_bool *halt)
{
	struct pins pins = { .halt = halt };
	struct share_request request;
	int fds[SHARE_TOGETHER], count;

	while ((count = share_receive_request(fd, &request, fds)) >= 0) {
		struct share_reply reply = { 0 };

		if (request.order == SHARE_MEASURE) {
			if (measure_all(fd, &pins) < 0)
				break;
			continue;
		}
		share_obey(&pins, &request, fds, count, &reply);
		while (count > 0)
			close(fds[--count]);
		if (share_send_reply(fd, &reply) < 0)
			break;
	}
}

/* All but FD: a copy of another worker's socket would keep that one from seeing us end; one of our
 * caller's pipes, or its folder, would keep others waiting that it goes (--detach). */
static void
close_others(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (syscall(SYS_close_range, fd + 1, UINT32_MAX, 0) == 0)
		most = fd; /* else, before Linux 5.9, those that there may well be */
	for (int other = 0; other < (most < 4096 ? most : 4096); other++)
		if (other != fd)
			close(other);
}

/* What ends us comes by the socket; a terminal's signals are for who reads it. */
void
share_work(int fd, pid_t parent, struct pins *inherited, const atomic_bool *halt)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGQUIT, SIGUSR1, SIGUSR2,
		SIGPIPE };
	sigset_t none;
	int null;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
	/* one that is blocked stays pending, ignored or not, and looks like a stop for ever */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close_others(fd);
	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null < STDERR_FILENO);
	if (chdir("/") < 0) {
		/* it is used for nothing */
	}
	/* one that is started later has all that we have pinned, and would keep it */
	pins_release(inherited);
	serve(fd, halt);
	_exit(0);
}
