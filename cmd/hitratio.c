/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hitratio: what fraction of file reads the page cache serves, per interval */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "meminfo.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "probe.h"
#include "status.h"
#include "stop.h"

#define NSEC          1000000000ULL
#define TIDY_INTERVAL (NSEC / 5)
#define CLOCK         sizeof "23:59:59"

enum field {
	F_TIME,
	F_INTERVAL,
	F_ACCESSES,
	F_HITS,
	F_MISSES,
	F_RATIO,
	F_FAULTS,
	F_FAULT_MISSES,
	F_MAPPED,
	F_STALLS,
	F_FILLS,
	F_WASTE,
	F_PENDING,
	F_LOST,
	F_DIRTIES,
	F_BUFFERS,
	F_CACHED,
	F_TIER,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_TIME] = { "time", OUT_TIME, NULL, false, "end of the interval, seconds since 1970" },
	[F_INTERVAL] = { "interval_s", OUT_SECONDS, "hitratio_interval_seconds", false,
	    "length of the interval" },
	[F_ACCESSES] = { "accesses", OUT_COUNT, "hitratio_accesses", true,
	    "pages that buffered reads overlapped" },
	[F_HITS] = { "hits", OUT_COUNT, "hitratio_hits", true,
	    "of these, pages that were in memory" },
	[F_MISSES] = { "misses", OUT_COUNT, "hitratio_misses", true,
	    "of these, pages that a read or its readahead had to bring in" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "hitratio_ratio", false,
	    "hits / accesses; none without access" },
	[F_FAULTS] = { "faults", OUT_COUNT, "hitratio_faults", true,
	    "page faults on mapped files" },
	[F_FAULT_MISSES] = { "fault_misses", OUT_COUNT, "hitratio_fault_misses", true,
	    "of these, first accesses to a page brought in" },
	[F_MAPPED] = { "mapped", OUT_COUNT, "hitratio_mapped", true,
	    "pages brought in and mapped around a fault" },
	[F_STALLS] = { "stalls", OUT_COUNT, "hitratio_stalls", true,
	    "accesses that found the page absent (not counted yet)" },
	[F_FILLS] = { "fills", OUT_COUNT, "hitratio_fills", true,
	    "pages brought in for reads, faults and readahead" },
	[F_WASTE] = { "waste", OUT_COUNT, "hitratio_waste", true,
	    "pages brought in, then evicted without an access" },
	[F_PENDING] = { "pending", OUT_COUNT, "hitratio_pending", false,
	    "pages brought in and not accessed yet" },
	[F_LOST] = { "lost", OUT_COUNT, "hitratio_lost", true,
	    "pages brought in that could not be noted: misses may be missing" },
	[F_DIRTIES] = { "dirties", OUT_COUNT, "hitratio_dirties", true,
	    "pages that went from clean to dirty" },
	[F_BUFFERS] = { "buffers_bytes", OUT_BYTES, "hitratio_buffers_bytes", false,
	    "page cache of block devices" },
	[F_CACHED] = { "cached_bytes", OUT_BYTES, "hitratio_cached_bytes", false,
	    "page cache of files, and shared memory" },
	[F_TIER] = { "tier", OUT_STRING, "tier", false, "how it was counted" },
};

/* As cachestat prints them, so that scripts for it find their fields. */
static const struct out_column columns[] = {
	{ F_TIME, "TIME", -8, false },
	{ F_HITS, "HITS", 8, false },
	{ F_MISSES, "MISSES", 8, false },
	{ F_DIRTIES, "DIRTIES", 8, false },
	{ F_RATIO, "HITRATIO", 8, false },
	{ F_BUFFERS, "BUFFERS_MB", 12, true },
	{ F_CACHED, "CACHED_MB", 10, true },
	{ 0 },
};

struct options {
	struct opts_common common;
	bool time;
	pid_t pid;
	uint64_t interval, count; /* ns; 0: until stopped */
	char **command;           /* NULL: none */
};

static const struct opts_option options[] = {
	{ 'T', "time", NULL, opts_flag, offsetof(struct options, time), "show the time" },
	{ 'p', "pid", "PID", opts_pid, offsetof(struct options, pid),
	    "count process PID and its children only" },
	{ 0 },
};

/* Everything at one moment; a report is the difference of two. */
struct moment {
	uint64_t at; /* CLOCK_MONOTONIC, ns */
	struct counters sums;
	uint64_t waste, lost; /* of the whole machine: evictions are nobody's */
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
	struct counters all;

	moment->at = stop_now();
	if (probe_settle(run->probe) < 0 || probe_sums(run->probe, run->scope, &moment->sums) < 0 ||
	    probe_sums(run->probe, SCOPE_ALL, &all) < 0) {
		diag_error("cannot read the counters: %s", strerror(errno));
		return -1;
	}
	moment->waste = all.of[WASTE];
	moment->lost = all.of[LOST];
	return 0;
}

static struct out_value
meminfo_value(uint64_t bytes)
{
	return bytes == MEMINFO_UNKNOWN ? out_unknown : out_number(bytes);
}

static void
set_values(struct out_value *values, const struct moment *from, const struct moment *to)
{
	uint64_t hits = to->sums.of[HITS] - from->sums.of[HITS];
	uint64_t misses = to->sums.of[MISSES] - from->sums.of[MISSES];

	values[F_INTERVAL] = out_real((double)(to->at - from->at) / NSEC);
	values[F_ACCESSES] = out_number(hits + misses);
	values[F_HITS] = out_number(hits);
	values[F_MISSES] = out_number(misses);
	values[F_RATIO] = out_percent(hits, hits + misses);
	values[F_FAULTS] = out_number(to->sums.of[FAULTS] - from->sums.of[FAULTS]);
	values[F_FAULT_MISSES] = out_number(
	    to->sums.of[FAULT_MISSES] - from->sums.of[FAULT_MISSES]);
	values[F_MAPPED] = out_number(to->sums.of[MAPPED] - from->sums.of[MAPPED]);
	values[F_FILLS] = out_number(to->sums.of[FILLS] - from->sums.of[FILLS]);
	values[F_WASTE] = out_number(to->waste - from->waste);
	values[F_LOST] = out_number(to->lost - from->lost);
	values[F_DIRTIES] = out_number(to->sums.of[DIRTIES] - from->sums.of[DIRTIES]);
}

/* Now; SHOWN gets the local time of day. */
static struct out_value
time_value(char shown[static CLOCK])
{
	struct out_value value;
	struct timespec now;
	struct tm local;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	strftime(shown, CLOCK, "%H:%M:%S", &local);
	value = out_real((double)now.tv_sec + (double)now.tv_nsec / NSEC);
	value.shown = shown;
	return value;
}

static int
report(struct run *run)
{
	struct out_value values[FIELDS] = { 0 };
	struct meminfo memory;
	struct moment now;
	char shown[CLOCK];

	if (take_moment(run, &now) < 0)
		return STATUS_FAILED;
	set_values(values, run->out.running ? &run->start : &run->last, &now);
	run->last = now;
	values[F_TIME] = time_value(shown);
	values[F_PENDING] = out_number(probe_pending(run->probe));
	if (meminfo_read(MEMINFO_PATH, &memory) == 0) {
		values[F_BUFFERS] = meminfo_value(memory.buffers);
		values[F_CACHED] = meminfo_value(memory.cached);
	}
	values[F_TIER] = out_string(probe_tier(run->probe));
	if (out_row(&run->out, values) < 0 || out_commit(&run->out) < 0)
		return out_explain(&run->out);
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

static const struct out_table table_with_time = { fields, FIELDS, columns };
static const struct out_table table = { fields, FIELDS, columns + 1 };

static const struct opts_tool tool = {
	"hitratio",
	"[options] [INTERVAL [COUNT]]\n[options] [INTERVAL [COUNT]] -- COMMAND [ARGUMENT...]",
	"Show what fraction of file reads the page cache serves, each INTERVAL (default 1 s)\n"
	"COUNT times, for the machine, a process or a command from its start to its end.",
	&table,
};

static int
run_with(struct run *run)
{
	const struct options *opt = run->options;
	struct probe_reason reason;
	int status;

	run->probe = probe_open(run->scope == SCOPE_TARGET, &reason);
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
	if (out_open(&run.out, opt.time ? &table_with_time : &table, opt.common.format,
		opt.common.output, opt.command ? stderr : stdout) < 0)
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
