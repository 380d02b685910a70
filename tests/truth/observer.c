/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

#define INTERVAL "0.005"
#define ROOM     (1 << 20) /* of the pipe: figures are not read while a workload runs */

/* The row that a stop interrupted, one that is whole, and the begin of another, which says
 * that that one is complete. */
#define ROWS 3

static void
read_figure(struct figures *figures, const char *line)
{
	const struct {
		const char *name;
		unsigned long long *sum;
	} known[] = {
		{ "hits=", &figures->hits },
		{ "misses=", &figures->misses },
		{ "faults=", &figures->faults },
		{ "fault_misses=", &figures->fault_misses },
		{ "mapped=", &figures->mapped },
		{ "fills=", &figures->fills },
		{ "lost=", &figures->lost },
		{ "stalls=", &figures->stalls },
		{ "dirties=", &figures->dirties },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t length = strlen(known[i].name);

		if (strncmp(line, known[i].name, length) == 0)
			*known[i].sum += strtoull(line + length, NULL, 10);
	}
	if (strncmp(line, "stalls=", 7) == 0)
		figures->has_stalls = line[7] != '\0';
	sscanf(line, "tier=%15s", figures->tier);
}

static void
read_account(struct observer *observer, const char *line)
{
	unsigned long long fills, n[6];

	if (sscanf(line,
		"hitratio: fills %llu = misses %llu + fault misses %llu + mapped %llu + waste %llu "
		"+ pending %llu + lost %llu",
		&fills, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) != 7)
		return;
	snprintf(observer->account, sizeof observer->account, "%s", line + strlen("hitratio: "));
	observer->balanced = fills == n[0] + n[1] + n[2] + n[3] + n[4] + n[5];
}

/* Whether LINE says how many events were not counted. */
static bool
read_uncounted(struct observer *observer, const char *line)
{
	unsigned long long events;

	if (sscanf(line, "hitratio: %llu events were not counted: %*c", &events) != 1)
		return false;
	observer->uncounted += events;
	return true;
}

static void
read_line(struct observer *observer, const char *line)
{
	observer->rows += strncmp(line, "time=", 5) == 0;
	if (read_uncounted(observer, line))
		snprintf(observer->complaint, sizeof observer->complaint, "%s", line);
	else if (strncmp(line, "hitratio: ", 10) == 0) {
		/* what it says after its account went wrong */
		observer->balanced = false;
		read_account(observer, line);
		snprintf(observer->complaint, sizeof observer->complaint, "%s", line);
	} else
		read_figure(&observer->figures, line);
}

/* Reads what is there, and waits until something is; false at the end. */
static bool
read_some(struct observer *observer)
{
	char *line = observer->text, *end;
	ssize_t n = read(observer->from, observer->text + observer->length,
	    sizeof observer->text - observer->length - 1);

	if (n <= 0)
		return false;
	observer->length += (size_t)n;
	observer->text[observer->length] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		read_line(observer, line);
		line = end + 1;
	}
	observer->length = strlen(line);
	memmove(observer->text, line, observer->length + 1);
	return observer->length < sizeof observer->text - 1;
}

static void
read_what_is_there(struct observer *observer)
{
	struct pollfd ready = { .fd = observer->from, .events = POLLIN };

	while (poll(&ready, 1, 0) == 1 && read_some(observer))
		;
}

static bool
stop(struct observer *observer)
{
	int status;

	if (observer->stopped)
		return true;
	kill(observer->pid, SIGSTOP);
	if (waitpid(observer->pid, &status, WUNTRACED) < 0 || !WIFSTOPPED(status)) {
		observer->pid = 0;
		return false;
	}
	observer->stopped = true;
	return true;
}

static void
go_on(struct observer *observer)
{
	kill(observer->pid, SIGCONT);
	observer->stopped = false;
}

bool
observer_take(struct observer *observer, bool to_look)
{
	if (!observer->pid || !stop(observer))
		return false;
	read_what_is_there(observer);
	observer->rows = 0;
	go_on(observer);
	while (observer->rows < ROWS)
		if (!read_some(observer))
			return false;
	return to_look || stop(observer);
}

static _Noreturn void
be_hitratio(const char *hitratio, const char *tier, pid_t target, int out)
{
	char number[16], option[64];

	/* stopped as it is most of the time it would outlive us */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(number, sizeof number, "%d", (int)target);
	snprintf(option, sizeof option, "--tier=%s", tier ? tier : "");
	dup2(out, 1);
	dup2(out, 2);
	execl(hitratio, "hitratio", "-v", "-f", "kv", "-p", number, tier ? option : INTERVAL,
	    tier ? INTERVAL : NULL, (char *)NULL);
	broken(hitratio);
}

bool
observer_start(struct observer *observer, const char *hitratio, const char *tier, pid_t target)
{
	int out[2];

	*observer = (struct observer){ 0 };
	if (pipe2(out, O_CLOEXEC) < 0)
		broken("pipe");
	fcntl(out[1], F_SETPIPE_SZ, ROOM);
	observer->pid = fork();
	if (observer->pid < 0)
		broken("fork");
	if (observer->pid == 0)
		be_hitratio(hitratio, tier, target, out[1]);
	close(out[1]);
	observer->from = out[0];
	while (observer->rows == 0)
		if (!read_some(observer))
			return false;
	return stop(observer);
}

int
observer_end(struct observer *observer)
{
	int status = 0;

	if (!observer->pid)
		return -1;
	kill(observer->pid, SIGINT);
	go_on(observer);
	while (read_some(observer))
		;
	close(observer->from);
	waitpid(observer->pid, &status, 0);
	observer->pid = 0;
	return status;
}
