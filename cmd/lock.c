/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock: keep files in memory, without taking the host down */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "budget.h"
#include "child.h"
#include "consult.h"
#include "diag.h"
#include "hold.h"
#include "journal.h"
#include "keeper.h"
#include "memlock.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "preflight.h"
#include "select.h"
#include "service.h"
#include "spool.h"
#include "status.h"
#include "stop.h"
#include "vigil.h"

#define QUIET    30000000000ULL /* ns without pressure until memory is taken again */
#define PATIENCE 5000000000ULL  /* ns for letting go, at the end */
#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

struct options {
	struct opts_common common;
	struct select select;
	struct num_share max;
	uint64_t time, quiet_time;
	const char *pidfile, *status;
	bool detach, dry_run, syslog;
};

static const struct opts_option options[] = {
	{ 0, "max", "SIZE|PCT", opts_share, offsetof(struct options, max),
	    "pin no more (default 25%)" },
	{ 0, "quiet-time", "DURATION", opts_duration, offsetof(struct options, quiet_time),
	    "what was given back is pinned again when memory was not short for so long (default 30s)" },
	{ 0, "for", "DURATION", opts_duration, offsetof(struct options, time),
	    "let go so long after all is pinned" },
	{ 0, "detach", NULL, opts_flag, offsetof(struct options, detach),
	    "go on in the background once all is pinned" },
	{ 0, "pidfile", "FILE", opts_text, offsetof(struct options, pidfile),
	    "keep the process id in FILE, and only one process with it" },
	{ 0, "status", "FILE", opts_text, offsetof(struct options, status),
	    "show what the process holds that has this pid file" },
	{ 0, "syslog", NULL, opts_flag, offsetof(struct options, syslog),
	    "each loss, release and pinning again goes to the system log" },
	{ 0, "dry-run", NULL, opts_flag, offsetof(struct options, dry_run),
	    "only show what would be pinned, and whether it may be" },
	{ 0 },
};

struct run {
	struct options *options;
	char **operands; /* without the list of -T */
	size_t count;
	const char *list; /* as it was named; NULL: none */
	char **command;   /* NULL: none */
	struct out out;
	int unwritten; /* the exit status of a report that could not be written */
	struct journal journal;
	struct service service;
	struct keeper *keeper;
	struct vigil vigil;
};

static void
complain(const char *path, const char *why)
{
	diag_error("%s: %s", path, why);
}

static void
tell(const char *text, void *argument)
{
	struct run *run = argument;

	journal_tell(&run->journal, LOG_NOTICE, "%s", text);
	notify_status(&run->service.notify, text);
}

/* Looks at what is asked for. NULL where that cannot be done, which is said. */
static struct keeper *
survey(struct run *run)
{
	struct keeper *keeper = malloc(sizeof *keeper);

	if (keeper) {
		*keeper = (struct keeper){
			.select = &run->options->select,
			.operands = run->operands,
			.count = run->count,
			.dry_run = run->options->dry_run,
			.complain = complain,
			.event = tell,
			.argument = run,
			.quiet_time = run->options->quiet_time,
		};
		if (keeper_begin(keeper, run->list) == 0) {
			if (keeper_survey(keeper) == 0)
				return keeper;
			keeper_end(keeper);
		}
	}
	diag_error("cannot start: %s", strerror(errno));
	free(keeper);
	return NULL;
}

static void
drop(struct keeper *keeper)
{
	if (!keeper || keeper->hung)
		return; /* a thread that hangs may come back to it */
	keeper_end(keeper);
	free(keeper);
}

/* Whether, and how much, may be pinned; -1 where that cannot be told, which is said. */
static int
look_before(struct run *run, struct keeper *keeper, uint64_t ours, struct preflight *preflight)
{
	if (preflight_look(preflight, keeper, run->options->max, ours) < 0) {
		if (errno == ENODATA)
			diag_error("how much memory there is, or is free, cannot be told; "
				   "--max=SIZE says how much may be pinned");
		else
			diag_error("cannot start: %s", strerror(errno));
		return -1;
	}
	if (preflight->detail)
		diag_detail("%s", preflight->detail);
	keeper->allowed = preflight->allowed;
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->holds[i].limit = keeper->allowed;
	return 0;
}

/* Once: where a report cannot be written, no other is tried. */
static int
put_rows(struct run *run)
{
	const struct keeper *keeper = run->keeper;

	if (!run->unwritten && hold_report(keeper->holds, keeper->holds_count, &run->out) < 0)
		run->unwritten = out_explain(&run->out);
	return run->unwritten;
}

/* What would be pinned, or is refused. */
static int
show(struct run *run, const struct preflight *preflight)
{
	struct keeper *keeper = run->keeper;
	int status;

	for (size_t i = 0; !preflight->fits && i < keeper->holds_count; i++)
		keeper->holds[i].state = "refused";
	if (!preflight->fits)
		diag_error("refused: %s", preflight->words);
	status = put_rows(run);
	if (status != STATUS_DONE)
		return status;
	if (!preflight->fits)
		return STATUS_FAILED;
	diag_note("%s", preflight->words);
	return keeper->partial ? STATUS_PART : STATUS_DONE;
}

/* When memory runs short we go first, not what needs the files. */
static void
volunteer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1000", 4) != 4)
		diag_detail("/proc/self/oom_score_adj: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Bytes that are pinned, HOLD_UNKNOWN where that is not known; WORDS say of how many. */
static uint64_t
sum_pinned(const struct keeper *keeper, char words[static 64])
{
	struct hold sum = { 0 };

	for (size_t i = 0; i < keeper->holds_count; i++)
		hold_add(&sum, &keeper->holds[i]);
	snprintf(words, 64, "%s of %s pinned", sum.pinned == HOLD_UNKNOWN ? "-" : BYTES(sum.pinned),
	    sum.asked == HOLD_UNKNOWN ? "-" : BYTES(sum.asked));
	return sum.pinned;
}

/* How it stands with all that was asked for, as an exit status. */
static int
standing(const struct keeper *keeper)
{
	bool whole = true, empty = true;

	for (size_t i = 0; i < keeper->holds_count; i++) {
		const struct hold *hold = &keeper->holds[i];

		whole &= hold->state && strcmp(hold->state, "pinned") == 0;
		empty &= hold->asked == 0;
	}
	if (!empty && !keeper_holds(keeper))
		return STATUS_FAILED;
	return whole ? STATUS_DONE : STATUS_PART;
}

/* Pins and reports; fails also where there is nothing to hold then. */
static int
pin(struct run *run)
{
	struct keeper *keeper = run->keeper;
	int status;

	memlock_raise(keeper->asked); /* the command, which runs already, does without */
	if (keeper_pin(keeper) < 0) {
		diag_error("cannot start: %s", strerror(errno));
		return STATUS_FAILED;
	}
	status = put_rows(run);
	if (status != STATUS_DONE)
		return status;
	if (stop_asked() == SIGALRM && keeper->partial)
		diag_error("not all is pinned within the time allowed (--timeout)");
	if (keeper->asked == 0 || keeper_holds(keeper))
		return STATUS_DONE;
	if (!stop_asked())
		diag_error("nothing is pinned");
	return STATUS_FAILED;
}

/* For whoever asks: the same rows, in their format. */
static int
answer(enum out_format format, FILE *stream, void *argument)
{
	const struct run *run = argument;
	const struct keeper *keeper = run->keeper;
	struct out out;
	int status = -1;

	if (out_open(&out, &hold_table, format, NULL, stream) == 0 &&
	    hold_report(keeper->holds, keeper->holds_count, &out) == 0)
		status = standing(keeper);
	out_close(&out);
	return status;
}

static int
report(void *argument)
{
	return put_rows(argument);
}

/* What is pinned is let go before the new is pinned: twice the same would count twice. */
static int
change_to(struct run *run, struct keeper *next)
{
	char words[64];
	int status;

	keeper_release(run->keeper);
	drop(run->keeper);
	run->keeper = run->vigil.keeper = next;
	status = pin(run);
	sum_pinned(next, words);
	journal_tell(&run->journal, LOG_NOTICE, "reloaded: %s", words);
	return status;
}

/* Operands and list are read again. Where it is refused, all stays as it is. */
static int
reload(void *argument)
{
	struct run *run = argument;
	struct keeper *next = survey(run);
	struct preflight preflight = { 0 };
	uint64_t ours = sum_pinned(run->keeper, (char[64]){ 0 });
	int status = STATUS_DONE;
	char words[64];

	if (next && look_before(run, next, ours == HOLD_UNKNOWN ? 0 : ours, &preflight) == 0 &&
	    !stop_asked()) {
		if (preflight.fits) {
			status = change_to(run, next);
			next = NULL;
		} else
			journal_tell(&run->journal, LOG_ERR, "reload refused: %s", preflight.words);
	}
	preflight_free(&preflight);
	drop(next);
	sum_pinned(run->keeper, words);
	notify_ready(&run->service.notify, words);
	return status;
}

/* The command is to end: that is its affair where a signal came, which is passed on to it. */
static int
end_command(struct run *run, bool over)
{
	int wait_status, ended;

	if (over) {
		keeper_release(run->keeper); /* it may take a while */
		ended = child_end(run->vigil.command, &wait_status);
		if (ended == 0) {
			diag_error("the command does not end, not even by SIGKILL");
			return STATUS_FAILED;
		}
	} else {
		kill(run->vigil.command, stop_asked());
		ended = child_wait(run->vigil.command, &wait_status) < 0 ? -1 : 1;
	}
	if (ended > 0)
		return child_status(wait_status);
	diag_error("the command is lost: %s", strerror(errno));
	return STATUS_FAILED;
}

/* Until a signal, the end of the time, or of the command. */
static int
keep(struct run *run)
{
	const struct options *opt = run->options;
	int status;

	run->vigil.until = opt->time ? stop_now() + opt->time : UINT64_MAX;
	switch (vigil_keep(&run->vigil, &status)) {
	case VIGIL_ENDED:
		status = child_status(status);
		break;
	case VIGIL_STOPPED:
	case VIGIL_OVER:
		status = STATUS_DONE;
		if (run->command)
			status = end_command(run, !stop_asked() || stop_asked() == SIGALRM);
		break;
	case VIGIL_FAILED:
		break;
	}
	return status == STATUS_DONE && run->keeper->partial ? STATUS_PART : status;
}

static int
hold_until_stopped(struct run *run)
{
	int status = pin(run);
	char words[64];

	if (status == STATUS_DONE && !stop_asked()) {
		sum_pinned(run->keeper, words);
		if (service_ready(&run->service, words, standing(run->keeper)) < 0)
			return STATUS_FAILED;
		status = keep(run);
	}
	return stop_status(status);
}

static int
hold_for_command(struct run *run, int go)
{
	int status = pin(run);
	char words[64];

	if (status == STATUS_DONE && !stop_asked()) {
		sum_pinned(run->keeper, words);
		service_ready(&run->service, words, status);
		return child_release(go) < 0 ? STATUS_FAILED : keep(run);
	}
	close(go); /* it ends without having begun */
	child_wait(run->vigil.command, &(int){ 0 });
	return stop_status(status == STATUS_DONE ? STATUS_FAILED : status);
}

static int
hold(struct run *run)
{
	int go, status, released;

	run->vigil = (struct vigil){
		.keeper = run->keeper,
		.inquiry = &run->service.inquiry,
		.notify = &run->service.notify,
		.command = -1,
		.signals = run->service.signals,
		.answer = answer,
		.report = report,
		.reload = reload,
		.argument = run,
	};
	/* before we volunteer: the command keeps its own oom_score_adj */
	if (run->command && (run->vigil.command = child_start(run->command, &go)) < 0) {
		diag_file(run->command[0], errno);
		return STATUS_FAILED;
	}
	volunteer();
	status = run->command ? hold_for_command(run, go) : hold_until_stopped(run);
	service_stopping(&run->service);
	stop_insist(PATIENCE);
	keeper_release(run->keeper);
	released = put_rows(run);
	return released == STATUS_DONE ? status : released;
}

static int
run_with(struct run *run)
{
	struct keeper *keeper = run->keeper = survey(run);
	struct preflight preflight;
	int status;

	if (!keeper)
		return stop_status(STATUS_FAILED);
	if (stop_asked() == SIGALRM)
		diag_error("nothing is pinned: the time allowed (--timeout) was over before");
	if (stop_asked() || (keeper->partial && keeper->asked == 0))
		return stop_status(STATUS_FAILED);
	if (look_before(run, keeper, 0, &preflight) < 0)
		return STATUS_UNKNOWN;
	if (preflight.fits && !run->options->dry_run)
		status = hold(run);
	else
		status = show(run, &preflight);
	preflight_free(&preflight);
	return status;
}

/* The list is read more than once: to see what is asked for, and to pin it. */
static int
run_all(struct run *run)
{
	struct options *opt = run->options;
	const char **list = &opt->select.files_from;
	char path[SPOOL_PATH];
	int status;

	run->list = *list;
	if (run->list && !(*list = spool_list(run->list, path))) {
		diag_error("%s: %s", run->list, spool_error(errno));
		return stop_status(STATUS_FAILED);
	}
	if (out_open(&run->out, &hold_table, opt->common.format, opt->common.output,
		run->command ? stderr : stdout) < 0)
		return out_explain(&run->out);
	status = run_with(run);
	out_close(&run->out);
	drop(run->keeper);
	return status;
}

/* Operands end at "--", which starts the command. */
static void
split(struct run *run, int argc, char **argv, int first)
{
	int i = strcmp(argv[first - 1], "--") == 0 ? first - 1 : first;

	run->operands = argv + i;
	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	run->count = (size_t)(argv + i - run->operands);
	if (i < argc)
		run->command = argv + i + 1;
}

/* What does not go together is said; returns STATUS_UNKNOWN for it. */
static int
check(const struct run *run)
{
	const struct options *opt = run->options;

	if (opt->status && (run->count || run->command || opt->select.files_from))
		return opts_misuse("--status goes without PATH and COMMAND");
	if (opt->status)
		return STATUS_DONE;
	if (run->command && !run->command[0])
		return opts_misuse("no command after --");
	if (run->command && (opt->detach || opt->time))
		return opts_misuse("%s goes without COMMAND, %s",
		    opt->detach ? "--detach" : "--for",
		    opt->detach ? "which would have no terminal"
				: "whose end is that of its pins; --timeout ends it");
	if (opt->dry_run && (opt->detach || opt->pidfile))
		return opts_misuse("--dry-run goes without --detach and --pidfile");
	return select_check(&opt->select, opt->common.format, run->operands, run->count);
}

/* Whether a name is seen from the working folder: a list's may be. */
static bool
has_relative(const struct run *run)
{
	const char *output = run->options->common.output;
	bool relative = run->options->select.files_from || (output && *output != '/');

	for (size_t i = 0; i < run->count; i++)
		relative |= *run->operands[i] != '/';
	return relative;
}

static const struct opts_tool tool = {
	"lock",
	"[options] PATH... [-- COMMAND [ARGUMENT...]]\n"
	"[options] -T FILE [PATH...] [-- COMMAND [ARGUMENT...]]\n"
	"[-f FORMAT] [-o FILE] --status=FILE",
	"Keep files, and the files below folders, in memory until a signal, or until COMMAND\n"
	"has ended. Refuses what could take the host down.",
	{ &hold_table },
};

int
main(int argc, char **argv)
{
	struct options opt = {
		.select = SELECT_ALL,
		.max = BUDGET_NO_SHARE,
		.quiet_time = QUIET,
	};
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	struct run run = { .options = &opt };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	split(&run, argc, argv, first);
	status = check(&run);
	if (status != STATUS_DONE)
		return status;
	if (opt.status)
		return consult(opt.status, &hold_table, &opt.common);
	run.journal.syslog = opt.syslog;
	if (!service_begin(&run.service,
		&(struct service_options){ opt.detach, has_relative(&run), opt.pidfile,
		    opt.common.timeout },
		&status))
		return status;
	return service_end(&run.service, run_all(&run));
}
