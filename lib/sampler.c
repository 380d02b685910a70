/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "num.h"
#include "status.h"
#include "stop.h"

/* How often a child is looked at where the kernel has no pidfd. */
#define LOOK_NS 10000000ULL

#define UNCOUNTED " events were not counted"

__attribute__((format(printf, 2, 3))) static int
explain(char *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, SAMPLER_REASON, format, arguments);
	va_end(arguments);
	return -1;
}

static int
explain_stop(char *reason)
{
	if (stop_asked() == SIGALRM)
		return explain(reason, "timed out");
	return explain(reason, "stopped by a signal");
}

static int
explain_problem(char *reason, const char *name, const struct samples *samples)
{
	return explain(reason, "%s: line %llu: %s", name, (unsigned long long)samples->at,
	    samples->problem);
}

/* What a program writes to standard error; its last line is its reason. */
struct complaint {
	char line[SAMPLER_REASON], last[SAMPLER_REASON];
	size_t length;
	uint64_t uncounted; /* events, of all lines */
};

/* How many events a line of hitratio (meter.c) says were not counted. */
static uint64_t
uncounted_in(const char *line)
{
	const char *number = strstr(line, ": ");
	char *end;
	unsigned long long count;

	number = number ? number + 2 : line;
	if (*number < '0' || *number > '9')
		return 0;
	count = strtoull(number, &end, 10); /* too many: the largest */
	return strncmp(end, UNCOUNTED, strlen(UNCOUNTED)) == 0 ? count : 0;
}

static void
complaint_end_line(struct complaint *complaint)
{
	if (complaint->length == 0)
		return;
	complaint->line[complaint->length] = '\0';
	complaint->uncounted = num_sum(complaint->uncounted, uncounted_in(complaint->line));
	memcpy(complaint->last, complaint->line, complaint->length + 1);
	diag_detail("%s", complaint->last);
	complaint->length = 0;
}

static void
complaint_feed(struct complaint *complaint, const char *bytes, size_t length)
{
	for (; length; bytes++, length--) {
		if (*bytes == '\n')
			complaint_end_line(complaint);
		else if (complaint->length < sizeof complaint->line - 1)
			complaint->line[complaint->length++] = *bytes;
	}
}

static ssize_t
read_some(int fd, char *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n;
}

struct run {
	const char *name;
	struct samples *samples;
	struct complaint complaint;
	int out, err; /* -1: at its end */
	int either;   /* readable where one of them is */
};

static int
watch(const struct run *run, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(run->either, EPOLL_CTL_ADD, fd, &event);
}

static int
take_output(struct run *run, int *fd)
{
	char bytes[4096];
	ssize_t n = read_some(*fd, bytes, sizeof bytes);

	if (n <= 0) {
		close(*fd); /* with which it leaves either */
		*fd = -1;
		return 0;
	}
	if (fd == &run->out)
		return samples_feed(run->samples, bytes, (size_t)n);
	complaint_feed(&run->complaint, bytes, (size_t)n);
	return 0;
}

/* Takes all output of the child; -1 where it is no sample or we are to stop. */
static int
collect(struct run *run)
{
	while (run->out >= 0 || run->err >= 0) {
		struct epoll_event event;

		stop_sleep(UINT64_MAX, run->either);
		if (stop_asked())
			return -1;
		if (epoll_wait(run->either, &event, 1, 0) != 1)
			continue;
		if (take_output(run, event.data.fd == run->out ? &run->out : &run->err) < 0)
			return -1;
	}
	complaint_end_line(&run->complaint);
	return 0;
}

/* Waits for the child, which may have closed its output long before it ends. */
static int
await(pid_t pid, int *wait_status)
{
	int pidfd = child_pidfd(pid);
	int ended;

	while ((ended = child_poll(pid, wait_status)) == 0 && !stop_asked())
		stop_sleep(pidfd < 0 ? stop_now() + LOOK_NS : UINT64_MAX, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return ended == 1 ? 0 : -1;
}

static int
explain_status(char *reason, const struct run *run, int wait_status)
{
	const char *text = run->complaint.last;
	size_t length = strlen(diag_tool());

	/* where it could not be run, the message is our child's, so our own */
	if (strncmp(text, diag_tool(), length) == 0 && strncmp(text + length, ": ", 2) == 0)
		text += length + 2;
	if (WIFSIGNALED(wait_status))
		return explain(reason, "%s: killed by signal %d", run->name, WTERMSIG(wait_status));
	if (*text)
		return explain(reason, "%s", text);
	return explain(reason, "%s: exit status %d", run->name, WEXITSTATUS(wait_status));
}

/* Whether it counted all, but for a number that it told: a verdict can bear that in mind. */
static bool
is_partial(const struct samples *samples, int wait_status)
{
	return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == STATUS_PART &&
	    (samples->lost || samples->uncounted);
}

static int
finish(struct run *run, pid_t pid, char *reason)
{
	int wait_status = 0, error;

	if (collect(run) < 0 || await(pid, &wait_status) < 0) {
		error = errno;
		child_end(pid, &wait_status);
		if (stop_asked())
			return explain_stop(reason);
		if (!run->samples->problem) /* it is not its output */
			return explain(reason, "%s: %s", run->name, strerror(error));
		return explain_problem(reason, run->name, run->samples);
	}
	run->samples->uncounted = run->complaint.uncounted;
	if (wait_status != 0 && !is_partial(run->samples, wait_status))
		return explain_status(reason, run, wait_status);
	if (samples_end(run->samples) < 0)
		return explain_problem(reason, run->name, run->samples);
	return 0;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
close_run(const struct run *run)
{
	const int fds[] = { run->out, run->err, run->either };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int
sampler_run(struct samples *samples, char *const argv[], char reason[static SAMPLER_REASON])
{
	struct run run = { .name = base_name(argv[0]), .samples = samples, .out = -1, .err = -1 };
	int result, wait_status;
	pid_t pid = -1;

	samples_start(samples);
	run.either = epoll_create1(EPOLL_CLOEXEC);
	if (run.either >= 0)
		pid = child_capture(argv, &run.out, &run.err);
	if (pid > 0 && watch(&run, run.out) == 0 && watch(&run, run.err) == 0)
		result = finish(&run, pid, reason);
	else {
		result = explain(reason, "%s: %s", run.name, strerror(errno));
		if (pid > 0)
			child_end(pid, &wait_status);
	}
	close_run(&run);
	return result;
}

int
sampler_read(struct samples *samples, int fd, const char *name, char reason[static SAMPLER_REASON])
{
	char bytes[4096];
	ssize_t n;

	samples_start(samples);
	do {
		stop_sleep(UINT64_MAX, fd);
		if (stop_asked())
			return explain_stop(reason);
		n = read_some(fd, bytes, sizeof bytes);
		if (n < 0)
			return explain(reason, "%s: %s", name, strerror(errno));
		if (samples_feed(samples, bytes, (size_t)n) < 0)
			return explain_problem(reason, name, samples);
	} while (n > 0);
	return samples_end(samples) < 0 ? explain_problem(reason, name, samples) : 0;
}
