/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm: bring files into the page cache, and prove it */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "aside.h"
#include "budget.h"
#include "diag.h"
#include "eviction.h"
#include "fd.h"
#include "load.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "pace.h"
#include "requests.h"
#include "restore.h"
#include "select.h"
#include "status.h"
#include "stop.h"
#include "tally.h"

#define MAX_WORKERS 1024

struct options {
	struct opts_common common;
	struct select select;
	uint64_t workers;
	struct num_share budget;
	double min;    /* below 0: none */
	uint64_t rate; /* NUM_UNKNOWN: as fast as it can */
	bool idle, dry_run;
	const char *cgroup;
	bool evict, force;
	bool ranges; /* in the list */
	const char *restore, *changed;
	const char *log, *root;
};

static const struct opts_option options[] = {
	{ 'j', "jobs", "N", opts_count, offsetof(struct options, workers),
	    "load by N threads (default: as the device has it)" },
	{ 0, "budget", "SIZE|PCT", opts_share, offsetof(struct options, budget),
	    "bring in no more (default: what is free or idle)" },
	{ 0, "cgroup", "PATH", opts_text, offsetof(struct options, cgroup),
	    "let this memory cgroup pay for what is read" },
	{ 0, "dry-run", NULL, opts_flag, offsetof(struct options, dry_run),
	    "only tell what would be read, and if it fits; --evict: dropped" },
	{ 0, "idle", NULL, opts_flag, offsetof(struct options, idle),
	    "read from disks when nobody else does" },
	{ 0, "rate", "SIZE", opts_size, offsetof(struct options, rate),
	    "read no more than SIZE a second" },
	{ 0, "min", "PCT", opts_percent, offsetof(struct options, min),
	    "exit 2 where less of an operand is in memory" },
	{ 0, "evict", NULL, opts_flag, offsetof(struct options, evict),
	    "drop what is in memory instead, and tell what stayed" },
	{ 0, "force", NULL, opts_flag, offsetof(struct options, force),
	    "--evict: files that other processes use, too" },
	{ 0, "ranges", NULL, opts_flag, offsetof(struct options, ranges),
	    "that FILE has ranges before names, as of resident --holes" },
	{ 0, "restore", "FILE", opts_text, offsetof(struct options, restore),
	    "load what FILE, of resident --save, has, the hottest first" },
	{ 0, "changed", "HOW", opts_text, offsetof(struct options, changed),
	    "of it, files that changed: skip (default), ranges or whole" },
	{ 0, "log", "FILE", opts_text, offsetof(struct options, log),
	    "load what this access log's requests were for, the most first" },
	{ 0, "root", "DIR", opts_text, offsetof(struct options, root),
	    "the folder that the web server of the log has for /" },
	{ 0 },
};

static const struct opts_tool tool = {
	"warm",
	"[options] PATH...\n[options] -T FILE [PATH...]\n[options] --restore=FILE\n"
	"[options] --log=FILE --root=DIR\n--evict [options] PATH...",
	"Bring files, folders and block devices into the page cache, many at a time, without\n"
	"pushing out what others use, and measure what is in memory afterwards.",
	{ &tally_table, &evicted_table },
};

static int
run(struct load *load, const struct opts_common *common)
{
	int status = load_prepare(load);

	if (status != STATUS_DONE)
		return status;
	load->report.table = &tally_table;
	status = report_open(&load->report, common, NULL);
	if (status == STATUS_DONE)
		status = load_run(load);
	report_close(&load->report);
	load_free(load);
	return status;
}

/* All that lasts: a worker may hang in the kernel longer than main takes. */
struct state {
	struct options options;
	struct load load;
	struct restore restore;
	struct requests requests;
	struct eviction eviction;
	int status; /* of the source */
};

static bool
has_range(const struct select *select)
{
	return select->range.offset || select->range.length != UINT64_MAX;
}

static int
check_list(const struct options *opt)
{
	if (opt->ranges && !opt->select.files_from)
		return opts_misuse(
		    "--ranges is about the list of --files-from, which is not given");
	if (opt->ranges && has_range(&opt->select))
		return opts_misuse("--ranges and --range exclude each other");
	return STATUS_DONE;
}

/* A source stands in the place of operands. */
static int
set_source(struct state *state, const char *option, const char **path, const struct source *source,
    void *self)
{
	struct load *load = &state->load;
	const struct select *select = &state->options.select;

	if (load->report.count || select->files_from)
		return opts_misuse("%s goes with neither PATH nor --files-from", option);
	if (select->one_file_system)
		return opts_misuse("%s goes without --one-file-system: no folder is walked",
		    option);
	load->report.operands = (char **)path;
	load->report.count = 1;
	load->source = source;
	load->self = self;
	return STATUS_DONE;
}

static int
choose_restore(struct state *state)
{
	struct options *opt = &state->options;
	struct restore *restore = &state->restore;

	if (opt->changed && restore_parse_changed(opt->changed, &restore->changed) < 0)
		return opts_misuse("--changed: skip, ranges or whole, not %s", opt->changed);
	if (has_range(&opt->select))
		return opts_misuse("--restore and --range exclude each other");
	restore->path = opt->restore;
	state->load.sample = restore->first;
	opt->select.count_links = true; /* the snapshot has each file once already */
	return set_source(state, "--restore", &restore->path, &restore_source, restore);
}

static int
choose_requests(struct state *state)
{
	const struct options *opt = &state->options;
	struct requests *requests = &state->requests;

	if (!opt->root)
		return opts_misuse("--log needs --root=DIR, the folder that the server has for /");
	requests->path = opt->log;
	requests->root = opt->root;
	state->load.sample = opt->root;
	requests->follow = opt->select.follow;
	return set_source(state, "--log", &requests->path, &requests_source, requests);
}

/* What does not go with --evict, or only with it. */
static int
check_evict(const struct options *opt)
{
	const char *wrong = opt->min >= 0 ? "--min"
	    : budget_given(&opt->budget)  ? "--budget"
	    : opt->cgroup                 ? "--cgroup"
	    : opt->rate != NUM_UNKNOWN    ? "--rate"
	    : opt->idle                   ? "--idle"
	    : opt->restore                ? "--restore"
	    : opt->log                    ? "--log"
	    : opt->ranges                 ? "--ranges"
					  : NULL;

	if (opt->evict && wrong)
		return opts_misuse("%s is about what is brought in: it does not go with --evict",
		    wrong);
	if (opt->force && !opt->evict)
		return opts_misuse("--force is about --evict, which is not given");
	return STATUS_DONE;
}

static int
check_numbers(const struct options *opt)
{
	if (opt->workers != NUM_UNKNOWN && (opt->workers < 1 || opt->workers > MAX_WORKERS))
		return opts_misuse("--jobs: from 1 to %d", MAX_WORKERS);
	if (opt->rate < pace_least())
		return opts_misuse("--rate: %llu or more, which is a page in a quarter of a second",
		    (unsigned long long)pace_least());
	return STATUS_DONE;
}

static int
choose(struct state *state)
{
	const struct options *opt = &state->options;
	struct load *load = &state->load;
	int status = STATUS_DONE;

	if (opt->changed && !opt->restore)
		return opts_misuse("--changed is about --restore, which is not given");
	if (opt->root && !opt->log)
		return opts_misuse("--root is about --log, which is not given");
	if (opt->restore && opt->log)
		return opts_misuse("--restore and --log exclude each other");
	if (opt->restore)
		status = choose_restore(state);
	else if (opt->log)
		status = choose_requests(state);
	if (status == STATUS_DONE)
		status = select_check(&opt->select, opt->common.format, load->report.operands,
		    load->report.count);
	if (status == STATUS_DONE)
		status = check_list(opt);
	if (status == STATUS_DONE)
		status = check_evict(opt);
	if (status == STATUS_DONE)
		status = check_numbers(opt);
	return status;
}

/* What is to be known before anything is loaded. */
static void
read_source(void *argument)
{
	struct state *state = argument;

	if (state->options.restore)
		state->status = restore_begin(&state->restore);
	else
		state->status = requests_begin(&state->requests);
}

static int
begin(struct state *state)
{
	if (!state->options.restore && !state->options.log)
		return STATUS_DONE;
	if (aside_run(read_source, state))
		return state->status;
	if (stop_asked() == SIGALRM)
		diag_error("not done within the time allowed (--timeout)");
	return stop_status(STATUS_FAILED);
}

static int
evict(struct state *state)
{
	struct eviction *eviction = &state->eviction;
	const struct load *load = &state->load;
	int status;

	*eviction = (struct eviction){
		.select = load->select,
		.report = load->report,
		.workers = load->workers,
		.force = state->options.force,
		.dry_run = load->dry_run,
	};
	eviction->report.table = &evicted_table;
	status = report_open(&eviction->report, &state->options.common, NULL);
	if (status == STATUS_DONE)
		status = eviction_run(eviction);
	report_close(&eviction->report);
	return status;
}

int
main(int argc, char **argv)
{
	static struct state state;
	struct options *opt = &state.options;
	struct load *load = &state.load;
	struct opts_group groups[] = { { select_options, &opt->select }, { options, opt }, { 0 } };
	int status, first;

	*opt = (struct options){ .select = SELECT_ALL,
		.workers = NUM_UNKNOWN,
		.budget = BUDGET_NO_SHARE,
		.min = -1,
		.rate = NUM_UNKNOWN };
	first = opts_parse(&tool, groups, &opt->common, argc, argv, &status);
	if (first < 0)
		return status;
	*load = (struct load){
		.select = &opt->select,
		.report = {
			.operands = argv + first,
			.count = (size_t)(argc - first),
			.list = opt->select.files_from,
			/* in prom a label a file is too many */
			.each_file = opt->common.verbose > 0 && opt->common.format != OUT_PROM,
		},
		.workers = opt->workers == NUM_UNKNOWN ? 0 : (unsigned)opt->workers,
		.ranges = opt->ranges,
		.share = opt->budget,
		.min = opt->min,
		.dry_run = opt->dry_run,
		.rate = opt->rate == NUM_UNKNOWN ? 0 : opt->rate,
		.idle = opt->idle,
		.cgroup = opt->cgroup,
	};
	status = choose(&state);
	if (status != STATUS_DONE)
		return status;
	stop_catch(opt->common.timeout);
	fd_raise_limit();
	if (opt->evict)
		return evict(&state);
	status = begin(&state);
	return status == STATUS_DONE ? run(load, &opt->common) : status;
}
