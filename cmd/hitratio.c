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
#include "meter.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "status.h"
#include "stop.h"

#define NSEC          1000000000ULL
#define TIDY_INTERVAL (NSEC / 5)

struct options {
	struct opts_common common;
	bool time, with_faults;
	pid_t pid;
	struct meter_choice choice;
	uint64_t interval, count; /* ns; 0: until stopped */
	char **command;           /* NULL: none */
};

static int
store_tier(void *field, const char *argument)
{
	static const char *const names[] = { [PROBE_FULL] = "full",
		[PROBE_KPROBE] = "kprobe",
		[PROBE_TRACEPOINT] = "tracepoint" };
	struct meter_choice *choice = field;

	choice->only = strcmp(argument, "proc") == 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i] && strcmp(names[i], argument) == 0) {
			choice->tier = (enum probe_tier)i;
			return 0;
		}
	}
	errno = EINVAL;
	return choice->only ? 0 : -1;
}

static const struct opts_option options[] = {
	{ 'T', "time", NULL, opts_flag, offsetof(struct options, time), "show the time" },
	{ 'p', "pid", "PID", opts_pid, offsetof(struct options, pid),
	    "count process PID and its children only" },
	{ 0, "with-faults", NULL, opts_flag, offsetof(struct options, with_faults),
	    "accesses, hits and misses are also those of page faults" },
	{ 0, "estimate", NULL, opts_flag, offsetof(struct options, choice.estimate),
	    "estimate from /proc where nothing can be counted" },
	{ 0, "tier", "TIER", store_tier, offsetof(struct options, choice),
	    "by full, kprobe, tracepoint or (an estimate) proc only" },
	{ 0 },
};

struct run {
	struct options *options;
	struct meter meter;
	struct out out;
	struct moment start, last;
	pid_t child; /* the command's; 0: none, or it has been waited for */
	int wait_status;
};

static int
take_moment(struct run *run, struct moment *moment)
{
	if (interval_moment(&run->meter, moment) == 0)
		return 0;
	diag_error("cannot read the counters: %s", strerror(errno));
	return -1;
}

/* An estimate finds what the command did in what we did, once we have waited for it: what a
 * dead process did may be told to root only. */
static void
wait_for_estimate(struct run *run)
{
	if (run->child && !run->meter.probe && child_poll(run->child, &run->wait_status) == 1)
		run->child = 0;
}

static int
report(struct run *run)
{
	const struct moment *from = run->out.running ? &run->start : &run->last;
	struct moment now;

	wait_for_estimate(run);
	if (take_moment(run, &now) < 0)
		return STATUS_FAILED;
	if (interval_row(&run->out, &run->meter, from, &now) < 0 || out_commit(&run->out) < 0)
		return out_explain(&run->out);
	run->last = now;
	return STATUS_DONE;
}

/* Sleeps as stop_sleep does, and keeps room in the ledger meanwhile: a walk over small
 * files takes a new entry for each of them. */
static bool
sleep_until(struct run *run, uint64_t deadline, int fd)
{
	uint64_t next;

	do {
		meter_tidy(&run->meter);
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
	meter_start(&run->meter);
	if (take_moment(run, &run->start) < 0)
		return STATUS_FAILED;
	run->last = run->start;
	meter_describe(&run->meter); /* whoever reads it knows that counting has begun */
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
	if (fd < 0 || meter_target(&run->meter, pid) < 0) {
		diag_error("process %d: %s", (int)pid, strerror(errno));
		return STATUS_UNKNOWN;
	}
	status = begin(run);
	if (status == STATUS_DONE)
		status = watch(run, fd);
	close(fd);
	return status;
}

/* The command's status is ours; where we were stopped, so is it. */
static int
end_command(struct run *run, int status)
{
	if (run->child && stop_asked() == SIGALRM) {
		child_end(run->child, &run->wait_status);
		return status == STATUS_DONE ? STATUS_UNKNOWN : status;
	}
	if (run->child && stop_asked())
		kill(run->child, stop_asked());
	if (run->child && child_wait(run->child, &run->wait_status) < 0)
		return STATUS_FAILED;
	return status == STATUS_DONE ? child_status(run->wait_status) : status;
}

/* Runs the command from its start to its end. */
static int
watch_command(struct run *run, char **command)
{
	int go, status, fd;

	run->child = child_start(command, &go);
	if (run->child < 0) {
		diag_file(command[0], errno);
		return STATUS_FAILED;
	}
	fd = child_pidfd(run->child);
	if (fd < 0 || meter_target(&run->meter, run->child) < 0) {
		diag_error("cannot follow the command: %s", strerror(errno));
		close(go);
		return STATUS_FAILED;
	}
	status = begin(run);
	if (status != STATUS_DONE || child_release(go) < 0)
		return STATUS_FAILED;
	return end_command(run, watch(run, fd));
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
	&interval_tables[true][false],
};

static int
watch_what(struct run *run)
{
	const struct options *opt = run->options;

	if (opt->command)
		return watch_command(run, opt->command);
	return opt->pid ? watch_process(run, opt->pid) : watch_machine(run);
}

static int
run_with(struct run *run)
{
	const struct options *opt = run->options;
	const struct out_table *table = &interval_tables[!run->meter.probe][opt->time];
	int status;

	if (out_open(&run->out, table, opt->common.format, opt->common.output,
		opt->command ? stderr : stdout) < 0)
		return out_explain(&run->out);
	/* only a run that goes on has counters: prom's idea of a sum */
	run->out.running = opt->common.format == OUT_PROM && !opt->count && !opt->command;
	status = watch_what(run);
	meter_account(&run->meter);
	out_close(&run->out);
	return status;
}

static int
measure(struct options *opt)
{
	struct run run = { .options = opt };
	struct probe_reason reason;
	int status;

	run.meter.with_faults = opt->with_faults;
	run.meter.scope = opt->command || opt->pid ? SCOPE_TARGET : SCOPE_ALL;
	if (meter_open(&run.meter, &opt->choice, &reason) < 0) {
		diag_error("%s", reason.text);
		return STATUS_UNKNOWN;
	}
	status = run_with(&run);
	meter_close(&run.meter);
	return status;
}

static int
check_options(struct options *opt)
{
	if (opt->command && opt->pid)
		return opts_misuse("--pid and a command exclude each other");
	if (opt->with_faults && (opt->choice.estimate || opt->choice.only))
		return opts_misuse("--with-faults: faults cannot be estimated");
	if (!opt->interval && !opt->command)
		opt->interval = NSEC;
	return STATUS_DONE;
}

int
main(int argc, char **argv)
{
	struct options opt = { 0 };
	struct opts_group groups[] = { { options, &opt }, { 0 } };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	if (strcmp(argv[first - 1], "--") == 0)
		first--;
	status = parse_operands(&opt, argc - first, argv + first);
	if (status == STATUS_DONE)
		status = check_options(&opt);
	if (status != STATUS_DONE)
		return status;
	stop_catch(opt.common.timeout);
	status = measure(&opt);
	if (status == STATUS_DONE && diag_errors())
		status = STATUS_PART;
	if (status == STATUS_DONE && stop_asked() == SIGALRM)
		status = STATUS_UNKNOWN;
	return stop_status(status);
}
