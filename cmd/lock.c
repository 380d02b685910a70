/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock: keep files in memory, without taking the host down */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "consult.h"
#include "diag.h"
#include "hold.h"
#include "holding.h"
#include "journal.h"
#include "num.h"
#include "oomscore.h"
#include "opts.h"
#include "patient.h"
#include "select.h"
#include "service.h"
#include "spool.h"
#include "status.h"
#include "stop.h"
#include "vigil.h"

#define QUIET    30000000000ULL /* ns without pressure until memory is taken again */
#define NEVER    UINT64_MAX
#define PATIENCE 5000000000ULL /* ns for the end, and one more for each byte that is let go */

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
	char **command; /* NULL: none */
	struct service service;
	struct holding holding;
	struct vigil vigil;
};

/* What would be pinned, or is refused. */
static int
show(struct run *run)
{
	struct keeper *keeper = run->holding.keeper;
	const struct preflight *preflight = &run->holding.preflight;
	int status;

	for (size_t i = 0; !preflight->fits && i < keeper->holds_count; i++)
		keeper->holds[i].state = "refused";
	if (!preflight->fits)
		diag_error("refused: %s", preflight->words);
	status = holding_report(&run->holding, PATIENT_FOREVER);
	if (status != STATUS_DONE)
		return status;
	if (!preflight->fits)
		return STATUS_FAILED;
	diag_note("%s", preflight->words);
	if (preflight->shortage)
		diag_error("%s", preflight->shortage);
	return keeper->partial || preflight->shortage ? STATUS_PART : STATUS_DONE;
}

/* What hangs at the end is ended; but memory takes its time. */
static int
let_go(struct run *run)
{
	uint64_t pinned = holding_words(&run->holding, (char[HOLD_WORDS]){ 0 });

	service_stopping(&run->service);
	stop_insist(num_sum(PATIENCE, pinned == HOLD_UNKNOWN ? 0 : pinned));
	keeper_release(run->holding.keeper);
	/* where the first report could not be written, that was said */
	if (!run->vigil.begun && run->holding.bulletin.failed)
		return STATUS_DONE;
	return holding_report(&run->holding, PATIENT_FOREVER);
}

static int
hold(struct run *run)
{
	struct vigil *vigil = &run->vigil;
	int status, reported;

	/* before we volunteer: the command keeps its own oom_score_adj */
	if (run->command && vigil_start(vigil, run->command) < 0)
		return STATUS_FAILED;
	if (oomscore_volunteer() < 0)
		diag_detail(OOMSCORE_PATH ": %s", strerror(errno));
	status = holding_pin(&run->holding);
	if (status == STATUS_DONE)
		status = vigil_keep(vigil, run->options->time);
	status = stop_status(status);
	reported = let_go(run);
	vigil_end(vigil);
	/* a command's status is its own, whatever became of us */
	return reported == STATUS_DONE || vigil->status >= 0 ? status : reported;
}

static int
run_with(struct run *run)
{
	int status = holding_begin(&run->holding);

	if (status != STATUS_DONE)
		return stop_status(status);
	return run->holding.preflight.fits && !run->options->dry_run ? hold(run) : show(run);
}

/* The list is read more than once: to see what is asked for, and to pin it. */
static int
run_all(struct run *run)
{
	struct options *opt = run->options;
	struct holding *holding = &run->holding;
	const char **list = &opt->select.files_from;
	char path[SPOOL_PATH];
	int status;

	holding->list = *list;
	if (*list && !(*list = spool_list(*list, path))) {
		diag_error("%s: %s", holding->list, spool_error(errno));
		return stop_status(STATUS_FAILED);
	}
	if (bulletin_open(&holding->bulletin, &hold_table, &opt->common,
		run->command ? STDERR_FILENO : STDOUT_FILENO) < 0)
		return bulletin_explain(&holding->bulletin);
	vigil_begin(&run->vigil, holding, &run->service);
	status = run_with(run);
	bulletin_close(&holding->bulletin);
	holding_end(holding);
	return status;
}

/* What does not go together is said; returns STATUS_UNKNOWN for it. */
static int
check(const struct options *opt, const struct opts_operands *operands)
{
	if (opt->status && (operands->count || operands->command || opt->select.files_from))
		return opts_misuse("--status goes without PATH and COMMAND");
	if (opt->status &&
	    (opt->detach || opt->pidfile || opt->dry_run || opt->syslog || opt->time != NEVER ||
		opt->quiet_time != QUIET || budget_given(&opt->max)))
		return opts_misuse("--status only asks: it goes with -f, -o, -q, -t and -v");
	if (opt->status)
		return STATUS_DONE;
	if (opt->time == 0)
		return opts_misuse("--for=0 would let go at once; without --for it is for ever");
	if (operands->command && !operands->command[0])
		return opts_misuse("no command after --");
	if (operands->command && (opt->detach || opt->time != NEVER))
		return opts_misuse("%s goes without COMMAND, %s",
		    opt->detach ? "--detach" : "--for",
		    opt->detach ? "which would have no terminal"
				: "whose end is that of its pins; --timeout ends it");
	if (opt->dry_run && (opt->detach || opt->pidfile))
		return opts_misuse("--dry-run goes without --detach and --pidfile");
	return select_check(&opt->select, opt->common.format, operands->words, operands->count);
}

/* Whether it needs the working folder that it was called in. */
static bool
must_stay(const struct options *opt, const struct opts_operands *operands)
{
	const char *output = opt->common.output;

	return select_is_relative(&opt->select, operands->words, operands->count) ||
	    (output && *output != '/');
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
		.time = NEVER,
	};
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);
	struct opts_operands operands;
	struct run run;

	if (first < 0)
		return status;
	operands = opts_split(argc, argv, first, &opt.common);
	status = check(&opt, &operands);
	if (status != STATUS_DONE)
		return status;
	if (opt.status)
		return consult(opt.status, &hold_table, &opt.common);
	journal_to_syslog(opt.syslog);
	run = (struct run){
		.options = &opt,
		.command = operands.command,
		.holding = {
			.select = &opt.select,
			.operands = operands.words,
			.count = operands.count,
			.max = opt.max,
			.quiet_time = opt.quiet_time,
			.dry_run = opt.dry_run,
			.notify = &run.service.notify,
			.breathe = vigil_breathe,
			.argument = &run.vigil,
		},
	};
	if (!service_begin(&run.service,
		&(struct service_options){
		    .detach = opt.detach,
		    .stay = must_stay(&opt, &operands),
		    .pidfile = opt.pidfile,
		    .endures = opt.detach || operands.command,
		    .timeout = opt.common.timeout,
		},
		&status))
		return status;
	return service_end(&run.service, run_all(&run));
}
