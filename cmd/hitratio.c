/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hitratio: what fraction of file reads the page cache serves, per interval */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "patient.h"
#include "selftest.h"
#include "status.h"
#include "stop.h"
#include "watch.h"

#define NSEC     1000000000ULL
#define PID_TEXT 12

struct options {
	struct opts_common common;
	bool time, with_faults, self_test;
	pid_t pid;
	struct meter_choice choice;
	uint64_t interval, count; /* ns; 0: until stopped */
	char **command;           /* NULL: none */
	const char *folder;       /* of the self-test; NULL: the usual */
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
	{ 0, "self-test", NULL, opts_flag, offsetof(struct options, self_test),
	    "compare what is counted here with the truth" },
	{ 0 },
};

static int
parse_operands(struct options *opt, const struct opts_operands *operands)
{
	char **words = operands->words;

	if (opts_late(words, operands->count))
		return STATUS_UNKNOWN;
	if (opt->self_test) {
		if (operands->count > 1 || operands->command)
			return opts_misuse("--self-test takes one folder at most");
		opt->folder = operands->count ? words[0] : NULL;
		return STATUS_DONE;
	}
	if (operands->count > 0 && (num_duration(words[0], &opt->interval) < 0 || !opt->interval))
		return opts_misuse("\"%s\" is not a valid interval", words[0]);
	if (operands->count > 1 && (num_count(words[1], &opt->count) < 0 || !opt->count))
		return opts_misuse("\"%s\" is not a valid count", words[1]);
	if (operands->count > 2)
		return opts_misuse("unexpected operand \"%s\"", words[2]);
	if (operands->command && !operands->command[0])
		return opts_misuse("no command after --");
	opt->command = operands->command;
	return STATUS_DONE;
}

static const struct opts_tool tool = {
	"hitratio",
	"[options] [INTERVAL [COUNT]]\n[options] [INTERVAL [COUNT]] -- COMMAND [ARGUMENT...]\n"
	"[options] --self-test [FOLDER]",
	"Show what fraction of file reads the page cache serves, each INTERVAL (default 1 s)\n"
	"COUNT times, for the machine, a process or a command from its start to its end;\n"
	"-t ends the command, too.",
	{ &interval_tables[true][false], &selftest_table },
};

static int
watch_what(struct watch *watch, const struct options *opt)
{
	if (opt->command)
		return watch_command(watch, opt->command);
	return opt->pid ? watch_process(watch, opt->pid) : watch_machine(watch);
}

static void
tidy(void *meter)
{
	meter_tidy(meter);
}

static int
watch_into(struct watch *watch, const struct options *opt)
{
	const struct out_table *table = &interval_tables[!watch->meter.probe][opt->time];
	int status;

	if (out_open(&watch->out, table, opt->common.format, opt->common.output,
		opt->command ? stderr : stdout) < 0)
		return out_explain(&watch->out);
	/* only a run that goes on has counters: prom's idea of a sum */
	watch->out.running = opt->common.format == OUT_PROM && !opt->count && !opt->command;
	/* also while nobody reads, or what is counted would be lost */
	patient_meanwhile(tidy, &watch->meter);
	status = watch_what(watch, opt);
	meter_account(&watch->meter);
	out_close(&watch->out);
	patient_meanwhile(NULL, NULL);
	return status;
}

/* Whom it counts; PID gets the number. */
static void
name_target(struct meter *meter, const struct options *opt, char pid[static PID_TEXT])
{
	meter->scope = opt->command || opt->pid ? SCOPE_TARGET : SCOPE_ALL;
	snprintf(pid, PID_TEXT, "%d", (int)opt->pid);
	meter->pid = opt->pid ? pid : NULL;
	if (opt->command) {
		const char *slash = strrchr(opt->command[0], '/');

		meter->command = slash ? slash + 1 : opt->command[0];
	}
}

static int
measure(const struct options *opt)
{
	struct watch watch = { .interval = opt->interval, .count = opt->count };
	struct reason reason = { 0 };
	char pid[PID_TEXT];
	int status;

	watch.meter.with_faults = opt->with_faults;
	name_target(&watch.meter, opt, pid);
	if (meter_open(&watch.meter, &opt->choice, &reason) < 0) {
		diag_error("%s", reason_text(&reason));
		reason_free(&reason);
		return STATUS_UNKNOWN;
	}
	reason_free(&reason);
	status = watch_into(&watch, opt);
	meter_close(&watch.meter);
	return status;
}

/* With TMPDIR, else where files are on a disk. */
static const char *
self_test_folder(const struct options *opt)
{
	const char *folder = opt->folder ? opt->folder : getenv("TMPDIR");

	return folder && *folder ? folder : "/var/tmp";
}

static void
explain_unknown(const char *what, int error)
{
	if (error == EBUSY)
		diag_error(
		    "%s: the kernel does not drop the pages of files there from memory, as in "
		    "tmpfs: name another folder",
		    what);
	else if (error)
		diag_file(what, error);
	else
		diag_error("%s: pages did not stay in memory for long enough: try again", what);
}

/* All cases; the worst status: what differs is worse than what nobody can tell. */
static int
run_cases(struct selftest *test, struct out *out)
{
	int status = STATUS_DONE;

	for (const struct workload *workload = workloads; workload->name; workload++) {
		struct selftest_result result;

		selftest_run(test, workload, &result);
		if (stop_asked())
			return out_finish(out, false) < 0 ? out_explain(out) : STATUS_UNKNOWN;
		if (selftest_row(out, test, &result) < 0)
			return out_explain(out);
		if (result.status == STATUS_UNKNOWN)
			explain_unknown(workload->name, result.error);
		if (result.status != STATUS_DONE && status != STATUS_FAILED)
			status = (int)result.status;
	}
	return out_commit(out) < 0 ? out_explain(out) : status;
}

static int
self_test_by(struct meter *meter, const struct options *opt)
{
	const char *folder = self_test_folder(opt);
	struct selftest test;
	struct out out;
	int status;

	if (out_open(&out, &selftest_table, opt->common.format, opt->common.output, stdout) < 0)
		return out_explain(&out);
	if (selftest_open(&test, meter->probe, folder) < 0) {
		explain_unknown(folder, errno);
		out_close(&out);
		return STATUS_UNKNOWN;
	}
	meter_describe(meter);
	status = run_cases(&test, &out);
	meter_identity(meter); /* what others missed does not matter */
	selftest_close(&test);
	out_close(&out);
	return status;
}

static int
self_test(const struct options *opt)
{
	struct meter meter = { .scope = SCOPE_TARGET };
	struct reason reason = { 0 };
	int status;

	meter.probe = probe_open(opt->choice.tier, true, &reason);
	if (!meter.probe) {
		diag_error("%s", reason_text(&reason));
		reason_free(&reason);
		return STATUS_UNKNOWN;
	}
	reason_free(&reason);
	status = self_test_by(&meter, opt);
	meter_close(&meter);
	return status;
}

static int
check_options(struct options *opt)
{
	if (opt->command && opt->pid)
		return opts_misuse("--pid and a command exclude each other");
	if (opt->with_faults && (opt->choice.estimate || opt->choice.only))
		return opts_misuse("--with-faults: faults cannot be estimated");
	if (opt->self_test && (opt->choice.estimate || opt->choice.only))
		return opts_misuse("--self-test: an estimate is never exact");
	if (opt->self_test && (opt->pid || opt->time || opt->with_faults))
		return opts_misuse("--self-test excludes --pid, --time and --with-faults");
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
	struct opts_operands operands;

	if (first < 0)
		return status;
	operands = opts_split(argc, argv, first, &opt.common);
	status = parse_operands(&opt, &operands);
	if (status == STATUS_DONE)
		status = check_options(&opt);
	if (status != STATUS_DONE)
		return status;
	stop_catch(opt.common.timeout);
	status = opt.self_test ? self_test(&opt) : measure(&opt);
	if (status == STATUS_DONE && diag_errors())
		status = STATUS_PART;
	if (status == STATUS_DONE && stop_asked() == SIGALRM)
		status = STATUS_UNKNOWN;
	return stop_status(status);
}
