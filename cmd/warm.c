/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm: bring files into the page cache, and prove it */
#include <stdbool.h>
#include <stdio.h>

#include "budget.h"
#include "eviction.h"
#include "load.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "pace.h"
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
};

static const struct opts_option options[] = {
	{ 'j', "jobs", "N", opts_count, offsetof(struct options, workers),
	    "load by N threads (default: as the device has it)" },
	{ 0, "budget", "SIZE|PCT", opts_share, offsetof(struct options, budget),
	    "bring in no more (default: what is free or idle)" },
	{ 0, "cgroup", "PATH", opts_text, offsetof(struct options, cgroup),
	    "let this memory cgroup pay for what is read" },
	{ 0, "dry-run", NULL, opts_flag, offsetof(struct options, dry_run),
	    "read nothing: tell what would be read, and if it fits" },
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
	{ 0 },
};

static const struct opts_tool tool = {
	"warm",
	"[options] PATH...\n[options] -T FILE [PATH...]\n--evict [options] PATH...",
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
	if (out_open(&load->out, &tally_table, common->format, common->output, stdout) < 0)
		return out_explain(&load->out);
	status = load_run(load);
	out_close(&load->out);
	load_free(load);
	return status;
}

/* What does not go with --evict, or only with it. */
static int
check_evict(const struct options *opt)
{
	const char *wrong = opt->min >= 0 ? "--min"
	    : budget_given(&opt->budget)  ? "--budget"
					  : NULL;

	if (opt->evict && wrong)
		return opts_misuse("%s is about what is brought in: it does not go with --evict",
		    wrong);
	if (opt->force && !opt->evict)
		return opts_misuse("--force is about --evict, which is not given");
	return STATUS_DONE;
}

static int
evict(const struct options *opt, const struct load *load)
{
	/* a worker may hang in the kernel longer than main takes */
	static struct eviction eviction;
	int status;

	eviction = (struct eviction){
		.select = load->select,
		.operands = load->operands,
		.count = load->count,
		.workers = load->workers,
		.force = opt->force,
		.each_file = load->each_file,
		.quiet = load->quiet,
	};
	if (out_open(&eviction.out, &evicted_table, opt->common.format, opt->common.output,
		stdout) < 0)
		return out_explain(&eviction.out);
	status = eviction_run(&eviction);
	out_close(&eviction.out);
	return status;
}

int
main(int argc, char **argv)
{
	static struct load load; /* a worker may hang in the kernel longer than main takes */
	static struct options opt = {
		.select = SELECT_ALL,
		.workers = NUM_UNKNOWN,
		.budget = BUDGET_NO_SHARE,
		.min = -1,
		.rate = NUM_UNKNOWN,
	};
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	load = (struct load){
		.select = &opt.select,
		.operands = argv + first,
		.count = (size_t)(argc - first),
		.workers = opt.workers == NUM_UNKNOWN ? 0 : (unsigned)opt.workers,
		.share = opt.budget,
		.min = opt.min,
		/* in prom a label a file is too many */
		.each_file = opt.common.verbose > 0 && opt.common.format != OUT_PROM,
		.quiet = opt.common.quiet,
		.dry_run = opt.dry_run,
		.rate = opt.rate == NUM_UNKNOWN ? 0 : opt.rate,
		.idle = opt.idle,
		.cgroup = opt.cgroup,
	};
	status = select_check(&opt.select, opt.common.format, load.operands, load.count);
	if (status != STATUS_DONE)
		return status;
	if (opt.workers != NUM_UNKNOWN && (opt.workers < 1 || opt.workers > MAX_WORKERS))
		return opts_misuse("--jobs: from 1 to %d", MAX_WORKERS);
	if (opt.rate < pace_least())
		return opts_misuse("--rate: %llu or more, which is a page in a quarter of a second",
		    (unsigned long long)pace_least());
	status = check_evict(&opt);
	if (status != STATUS_DONE)
		return status;
	stop_catch(opt.common.timeout);
	if (opt.evict)
		return evict(&opt, &load);
	return run(&load, &opt.common);
}
