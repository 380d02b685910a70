/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hitratio: what fraction of file reads the page cache serves, per interval */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "interval.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "probe.h"
#include "status.h"
#include "stop.h"

#define NSEC          1000000000ULL
#define TIDY_INTERVAL (NSEC / 5)

struct options {
	struct opts_common common;
	bool time;
	pid_t pid;
	enum probe_tier tier;
	uint64_t interval, count; /* ns; 0: until stopped */
	char **command;           /* NULL: none */
};

static int
store_tier(void *field, const char *argument)
{
	static const char *const names[] = { [PROBE_FULL] = "full",
		[PROBE_KPROBE] = "kprobe",
		[PROBE_TRACEPOINT] = "tracepoint" };
	enum probe_tier *tier = field;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i] && strcmp(names[i], argument) == 0) {
			*tier = (enum probe_tier)i;
			return 0;
		}
	}
	errno = EINVAL;
	return -1;
}

static const struct opts_option options[] = {
	{ 'T', "time", NULL, opts_flag, offsetof(struct options, time), "show the time" },
	{ 'p', "pid", "PID", opts_pid, offsetof(struct options, pid),
	    "count process PID and its children only" },
	{ 0, "tier", "TIER", store_tier, offsetof(struct options, tier),
	    "count by full, kprobe or tracepoint only" },
	{ 0 },
};

struct run {
	struct options *options;
	struct probe *probe;
	struct out out;
	enum scope scope;
	struct moment start, last;
};

static int
take_moment(struct run *run, struct moment *moment)
{
	if (interval_moment(run->probe, run->scope, moment) == 0)
		return 0;
	diag_error("cannot read the counters: %s", strerror(errno));
	return -1;
}

static int
report(struct run *run)
{
	const struct moment *from = run->out.running ? &run->start : &run->last;
	struct moment now;

	if (take_moment(run, &now) < 0)
		return STATUS_FAILED;
	if (interval_row(&run->out, from, &now, probe_tier(run->probe)) < 0 ||
	    out_commit(&run->out) < 0)
		return out_explain(&run->out);
	run->last = now;
	return STATUS_DONE;
}

static void
describe(const struct run *run)
{
	char text[200];
	const char *point, *name;

	probe_describe(run->probe, text, sizeof text);
	diag_detail("%s", text);
	for (int role = 0; (name = probe_role(run->probe, role, &point)); role++)
		diag_detail("%s: %s", name, point ? point : "not needed or not in this kernel");
}

/* With -v: what came in must be somewhere. */
static void
account(const struct run *run)
{
	struct counters all;

	if (probe_sums(run->probe, SCOPE_ALL, &all) < 0)
		return;
	diag_detail("fills %llu = misses %llu + fault misses %llu + mapped %llu + waste %llu + "
		    "pending %llu + lost %llu",
	    (unsigned long long)all.of[FILLS], (unsigned long long)all.of[MISSES],
	    (unsigned long long)all.of[FAULT_MISSES], (unsigned long long)all.of[MAPPED],
	    (unsigned long long)all.of[WASTE], (unsigned long long)probe_pending(run->probe),
	    (unsigned long long)all.of[LOST]);
	if (all.of[LOST])
		diag_error("%llu pages could not be noted, and count as hits: too many wait for "
			   "their first access",
		    (unsigned long long)all.of[LOST]);
	if (all.of[UNSEEN])
		diag_error("%llu events were not counted: no memory for task storage",
		    (unsigned long long)all.of[UNSEEN]);
	if (probe_missed(run->probe))
		diag_error("%llu events were not counted: the kernel let one of a kind interrupt "
			   "another",
		    (unsigned long long)probe_missed(run->probe));
}

/* Sleeps as stop_sleep does, and keeps room in the ledger meanwhile: a walk over small
 * files takes a new entry for each of them. */
static bool
sleep_until(struct run *run, uint64_t deadline, int fd)
{
	uint64_t next;

	do {
		probe_tidy(run->probe);
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
watch(struct run *run, int fd)
{
	const struct options *opt = run->options;
	uint64_t deadline = run->start.at, count = 0;
	bool on = true;
	int status;

	while (on) {
		deadline = next_deadline(deadline, opt->interval);
		on = sleep_until(run, deadline, fd);
		if ((status = report(run)) != STATUS_DONE)
			return status;
		if (++count == opt->count)
			break;
	}
	return STATUS_DONE;
}

static int
begin(struct run *run)
{
	probe_start(run->probe);
	if (take_moment(run, &run->start) < 0)
		return STATUS_FAILED;
	run->last = run->start;
	describe(run); /* whoever reads it knows that counting has begun */
	return STATUS_DONE;
}

static int
watch_machine(struct run *run)
{
	int status = begin(run);

	return status == STATUS_DONE ? watch(run, -1) : status;
}

static int
watch_process(struct run *run, pid_t pid)
{
	int fd = child_pidfd(pid), status;

	if (fd < 0 && errno != ESRCH && kill(pid, 0) == 0) {
		diag_error("process %d: a thread; --pid takes the process that it is of", (int)pid);
		return STATUS_UNKNOWN;
	}
	if (fd < 0 || probe_target(run->probe, pid) < 0) {
		diag_error("process %d: %s", (int)pid, strerror(errno));
		return STATUS_UNKNOWN;
	}
	status = begin(run);
	if (status == STATUS_DONE)
		status = watch(run, fd);
	close(fd);
	return status;
}

/* Runs the command from its start to its end; its status is ours. */
static int
watch_command(struct run *run, char **command)
{
	int go, wait_status, status, fd;
	pid_t pid = child_start(command, &go);

	if (pid < 0) {
		diag_file(command[0], errno);
		return STATUS_FAILED;
	}
	fd = child_pidfd(pid);
	if (fd < 0 || probe_target(run->probe, pid) < 0) {
		diag_error("cannot follow the command: %s", strerror(errno));
		close(go);
		return STATUS_FAILED;
	}
	status = begin(run);
	if (status != STATUS_DONE || child_release(go) < 0)
		return STATUS_FAILED;
	status = watch(run, fd);
	if (stop_asked() == SIGALRM) {
		child_end(pid, &wait_status);
		return status == STATUS_DONE ? STATUS_UNKNOWN : status;
	}
	if (stop_asked())
		kill(pid, stop_asked());
	if (child_wait(pid, &wait_status) < 0)
		return STATUS_FAILED;
	return status == STATUS_DONE ? child_status(wait_status) : status;
}

static int
parse_operands(struct options *opt, int argc, char **argv)
{
	int i = 0;

	if (i < argc && strcmp(argv[i], "--") != 0) {
		if (num_duration(argv[i], &opt->interval) < 0 || opt->interval == 0)
			return opts_misuse("\"%s\" is not a valid interval", argv[i]);
		i++;
	}
	if (i < argc && strcmp(argv[i], "--") != 0) {
		if (num_count(argv[i], &opt->count) < 0 || opt->count == 0)
			return opts_misuse("\"%s\" is not a valid count", argv[i]);
		i++;
	}
	if (i < argc && strcmp(argv[i], "--") == 0) {
		if (!argv[i + 1])
			return opts_misuse("no command after --");
		opt->command = &argv[i + 1];
		return STATUS_DONE;
	}
	return i < argc ? opts_misuse("unexpected operand \"%s\"", argv[i]) : STATUS_DONE;
}

static const struct opts_tool tool = {
	"hitratio",
	"[options] [INTERVAL [COUNT]]\n[options] [INTERVAL [COUNT]] -- COMMAND [ARGUMENT...]",
	"Show what fraction of file reads the page cache serves, each INTERVAL (default 1 s)\n"
	"COUNT times, for the machine, a process or a command from its start to its end.",
	&interval_table,
};

static int
run_with(struct run *run)
{
	const struct options *opt = run->options;
	struct probe_reason reason;
	int status;

	run->probe = probe_open(opt->tier, run->scope == SCOPE_TARGET, &reason);
	if (!run->probe) {
		diag_error("%s", reason.text);
		return STATUS_UNKNOWN;
	}
	if (opt->command)
		status = watch_command(run, opt->command);
	else if (opt->pid)
		status = watch_process(run, opt->pid);
	else
		status = watch_machine(run);
	account(run);
	probe_close(run->probe);
	return status;
}

int
main(int argc, char **argv)
{
	struct options opt = { 0 };
	struct opts_group groups[] = { { options, &opt }, { 0 } };
	struct run run = { .options = &opt };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	if (strcmp(argv[first - 1], "--") == 0)
		first--;
	status = parse_operands(&opt, argc - first, argv + first);
	if (status != STATUS_DONE)
		return status;
	if (opt.command && opt.pid)
		return opts_misuse("--pid and a command exclude each other");
	if (!opt.interval && !opt.command)
		opt.interval = NSEC;
	run.scope = opt.command || opt.pid ? SCOPE_TARGET : SCOPE_ALL;
	stop_catch(opt.common.timeout);
	if (out_open(&run.out, opt.time ? &interval_table_timed : &interval_table,
		opt.common.format, opt.common.output, opt.command ? stderr : stdout) < 0)
		return out_explain(&run.out);
	/* only a run that goes on has counters: prom's idea of a sum */
	run.out.running = opt.common.format == OUT_PROM && !opt.count && !opt.command;
	status = run_with(&run);
	out_close(&run.out);
	if (status == STATUS_DONE && diag_errors())
		status = STATUS_PART;
	if (status == STATUS_DONE && stop_asked() == SIGALRM)
		status = STATUS_UNKNOWN;
	return stop_status(status);
}
