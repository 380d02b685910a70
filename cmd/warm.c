/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm: bring files into the page cache, and prove it */
#include <stdio.h>

#include "budget.h"
#include "load.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "select.h"
#include "status.h"
#include "stop.h"
#include "tally.h"

#define WORKERS     8 /* more than processors: they wait for the disk */
#define MAX_WORKERS 1024

struct options {
	struct opts_common common;
	struct select select;
	uint64_t workers;
	struct num_share budget;
	double min; /* below 0: none */
};

static const struct opts_option options[] = {
	{ 0, "ranges", NULL, opts_flag, offsetof(struct options, select.ranges),
	    "FILE is a list of holes (resident --holes): ranges before names" },
	{ 'j', "jobs", "N", opts_count, offsetof(struct options, workers),
	    "load N files at a time (default 8)" },
	{ 0, "budget", "SIZE|PCT", opts_share, offsetof(struct options, budget),
	    "bring in no more (default: what is free or idle)" },
	{ 0, "min", "PCT", opts_percent, offsetof(struct options, min),
	    "exit 2 where less of an operand is in memory" },
	{ 0 },
};

static const struct opts_tool tool = {
	"warm",
	"[options] PATH...\n[options] -T FILE [PATH...]",
	"Bring files, folders and block devices into the page cache, many at a time, without\n"
	"pushing out what others use, and measure what is in memory afterwards.",
	{ &tally_table },
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

int
main(int argc, char **argv)
{
	static struct load load; /* a worker may hang in the kernel longer than main takes */
	static struct options opt = {
		.select = SELECT_ALL,
		.workers = WORKERS,
		.budget = BUDGET_NO_SHARE,
		.min = -1,
	};
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	load = (struct load){
		.select = &opt.select,
		.operands = argv + first,
		.count = (size_t)(argc - first),
		.workers = (unsigned)opt.workers,
		.share = opt.budget,
		.min = opt.min,
		/* in prom a label a file is too many */
		.each_file = opt.common.verbose > 0 && opt.common.format != OUT_PROM,
		.quiet = opt.common.quiet,
	};
	status = select_check(&opt.select, opt.common.format, load.operands, load.count);
	if (status != STATUS_DONE)
		return status;
	if (opt.select.ranges && !opt.select.files_from)
		return opts_misuse(
		    "--ranges is about the list of --files-from, which is not given");
	if (opt.select.ranges && (opt.select.range.offset || opt.select.range.length != UINT64_MAX))
		return opts_misuse("--ranges and --range exclude each other");
	if (opt.workers < 1 || opt.workers > MAX_WORKERS)
		return opts_misuse("--jobs: from 1 to %d", MAX_WORKERS);
	stop_catch(opt.common.timeout);
	return run(&load, &opt.common);
}
