/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm: bring files into the page cache, and prove it */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "budget.h"
#include "diag.h"
#include "each.h"
#include "meminfo.h"
#include "minimum.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "preload.h"
#include "progress.h"
#include "select.h"
#include "status.h"
#include "stop.h"
#include "tally.h"

#define WORKERS     8 /* more than processors: they wait for the disk */
#define MAX_WORKERS 1024
#define BYTES(n)    num_human(n, (char[NUM_HUMAN]){ 0 })

struct options {
	struct opts_common common;
	struct select select;
	uint64_t workers;
	struct num_share budget;
	double min; /* below 0: none */
};

static const struct opts_option options[] = {
	{ 'j', "jobs", "N", opts_count, offsetof(struct options, workers),
	    "load N files at a time (default 8)" },
	{ 0, "budget", "SIZE|PCT", opts_share, offsetof(struct options, budget),
	    "bring in no more (default: what is free or idle)" },
	{ 0, "min", "PCT", opts_percent, offsetof(struct options, min),
	    "exit 2 where less of an operand is in memory" },
	{ 0 },
};

struct run {
	const struct options *options;
	char **operands;
	size_t count;
	struct out out;
	int out_error; /* errno of what failed in writing */
	struct progress progress;
	struct budget budget;
	uint64_t allowed;   /* bytes that may be brought in */
	atomic_ullong left; /* of these */
	size_t operand;     /* that current is of */
	struct tally current, all;
	bool worked; /* some operand did */
	int status;
};

static void
worsen(struct run *run, enum status status)
{
	run->status = status_worse(run->status, status);
}

/* In a worker: takes BYTES from the budget. */
static bool
admit(uint64_t bytes, void *argument)
{
	struct run *run = argument;
	unsigned long long left = atomic_load(&run->left);

	do {
		if (bytes > left)
			return false;
	} while (!atomic_compare_exchange_weak(&run->left, &left, left - bytes));
	return true;
}

static void
asked(uint64_t bytes, void *argument)
{
	struct run *run = argument;

	progress_add(&run->progress, bytes);
}

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct run *run = argument;
	struct tally_file *result = file->result;
	struct preload_hooks hooks = { admit, asked, run };

	result->start = stop_now();
	preload_range(file->fd, &file->status, file->offset, file->length, &hooks,
	    &result->preload);
	result->end = stop_now();
	file->error = result->preload.error ? result->preload.error : result->preload.unmeasured;
	if (file->length > result->preload.read)
		progress_add(&run->progress, file->length - result->preload.read);
}

static const char *
operand_name(const struct run *run, size_t operand)
{
	return operand < run->count ? run->operands[operand] : run->options->select.files_from;
}

static void
put_row(struct run *run, const char *path, const struct tally *tally)
{
	progress_clear(&run->progress);
	if (!run->out_error && tally_row(tally, path, &run->out) < 0)
		run->out_error = errno;
}

/* In order, in the main thread. */
static void
report(const struct each_file *file, void *argument)
{
	struct run *run = argument;
	struct tally single = { 0 };

	run->operand = file->operand;
	if (file->error) {
		progress_clear(&run->progress);
		diag_error("%s: %s", file->path, each_error(file));
		worsen(run, STATUS_PART);
	}
	tally_file(&single, file);
	tally_add(&run->current, &single);
	/* an operand that is a file gets its row anyway; in prom a label a file is too many */
	if (!run->options->common.verbose || run->out.format == OUT_PROM || !single.files ||
	    strcmp(file->path, operand_name(run, file->operand)) == 0)
		return;
	put_row(run, file->path, &single);
}

static void
check_min(struct run *run, const char *name, const struct tally *tally)
{
	/* a file that failed is of unknown size: what is known of the others counts, if any is */
	bool known = !tally->beyond && (tally->size || !tally->failed);

	worsen(run, minimum_check(name, run->options->min, known, tally->resident, tally->size));
}

static void
explain_unmeasured(struct run *run, const char *name, const struct tally *tally)
{
	if (tally->hidden)
		diag_error("%s: %llu of %llu files cannot be measured: the kernel tells it only "
			   "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)tally->hidden, (unsigned long long)tally->files);
	if (tally->elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS)",
		    name, (unsigned long long)tally->elsewhere, (unsigned long long)tally->files);
	if (tally->hidden || tally->elsewhere)
		worsen(run, STATUS_PART);
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct run *run = argument;
	struct tally *current = &run->current;

	(void)operand;
	if (current->files || !current->failed) {
		run->worked = true;
		put_row(run, name, current);
	}
	progress_clear(&run->progress);
	explain_unmeasured(run, name, current);
	check_min(run, name, current);
	tally_add(&run->all, current);
	*current = (struct tally){ 0 };
}

/* What the budget left out, which limit that was, and what would mend it. */
static void
explain_skipped(struct run *run)
{
	const struct budget *budget = &run->budget;
	unsigned long long skipped = run->all.skipped, allowed = run->allowed;
	bool given = budget_given(&run->options->budget);
	char words[BUDGET_WORDS];

	budget_words(budget->room_group, budget->room_limit, words);
	if (run->all.beyond)
		return; /* that is said */
	diag_error("%llu files not started, %s (%llu bytes): the budget is %s (%llu bytes), %s%s; "
		   "--budget=SIZE|PCT changes it",
	    (unsigned long long)run->all.skipped_files, BYTES(skipped), skipped, BYTES(allowed),
	    allowed, given ? "as given" : "what is free or idle ", given ? "" : words);
	worsen(run, STATUS_PART);
}

static void
explain_holes(struct run *run)
{
	unsigned long long holes = run->all.holes;

	diag_error("%s (%llu bytes) are holes of files in tmpfs, which are not cached",
	    BYTES(holes), holes);
	worsen(run, STATUS_PART);
}

/* What is missing and has no other reason: it came, and was pushed out again. */
static void
explain_missing(struct run *run)
{
	uint64_t missing = run->all.size - run->all.resident, known;

	if (run->all.beyond) {
		diag_error("the sizes add up to more than 2^64 bytes: no sum can be told");
		worsen(run, STATUS_PART);
		return;
	}
	if (run->all.holes)
		explain_holes(run);
	known = run->all.skipped + run->all.holes; /* of what is missing */
	if (missing <= known || run->all.failed || stop_asked())
		return;
	missing -= known;
	if (run->options->min >= 0 && run->status == STATUS_DONE) {
		diag_note("%s did not stay in memory", BYTES(missing));
		return;
	}
	diag_error("%s (%llu bytes) did not stay in memory: something else needs it, or the "
		   "budget is more than a limit",
	    BYTES(missing), (unsigned long long)missing);
	worsen(run, STATUS_PART);
}

static int
set_budget(struct run *run)
{
	if (budget_read("", &run->budget) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	if (budget_allow(&run->budget, &run->options->budget, &run->allowed) < 0) {
		diag_error("%s and the limits of memory cgroups do not tell how much memory is "
			   "free; --budget=SIZE says how much may be used",
		    MEMINFO_PATH);
		return STATUS_UNKNOWN;
	}
	atomic_init(&run->left, run->allowed);
	diag_detail("budget %s (%llu bytes)", BYTES(run->allowed),
	    (unsigned long long)run->allowed);
	return STATUS_DONE;
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct run *run)
{
	bool stopped = stop_asked() != 0;

	if (stopped && (run->current.files || run->current.failed))
		operand_done(run->operand, operand_name(run, run->operand), run);
	if (run->out.format == OUT_TEXT && run->count + !!run->options->select.files_from > 1)
		put_row(run, "total", &run->all);
	if (!run->out_error && out_finish(&run->out, !stopped && run->worked) < 0)
		run->out_error = errno;
	progress_clear(&run->progress);
	if (run->all.skipped)
		explain_skipped(run);
	explain_missing(run);
	if (run->out_error) {
		errno = run->out_error;
		return out_explain(&run->out);
	}
	if (stop_asked() == SIGALRM)
		diag_error("not done within the time allowed (--timeout)");
	if (stopped)
		worsen(run, STATUS_PART);
	if (!run->worked && diag_errors())
		worsen(run, STATUS_FAILED);
	return stop_status(run->status);
}

static int
load(struct run *run)
{
	const struct options *opt = run->options;
	struct each each = {
		.select = &opt->select,
		.result_size = sizeof(struct tally_file),
		.workers = (unsigned)opt->workers,
		.work = work,
		.report = report,
		.operand_done = operand_done,
		.argument = run,
	};
	bool plain = !opt->select.files_from && opt->select.range.length == UINT64_MAX;
	uint64_t start = stop_now();
	int result;

	progress_begin(&run->progress, plain ? progress_sizes(run->operands, run->count) : 0,
	    opt->common.quiet);
	result = each_run(&each, run->operands, run->count);
	progress_clear(&run->progress);
	if (result < 0) {
		diag_file(opt->select.files_from ? opt->select.files_from : "cannot start", errno);
		return STATUS_FAILED;
	}
	run->all.start = start;
	return finish(run);
}

static const struct opts_tool tool = {
	"warm",
	"[options] PATH...\n[options] -T FILE [PATH...]",
	"Bring files, folders and block devices into the page cache, many at a time, without\n"
	"pushing out what others use, and measure what is in memory afterwards.",
	{ &tally_table },
};

static int
run_with(struct run *run)
{
	const struct options *opt = run->options;
	int status = set_budget(run);

	if (status != STATUS_DONE)
		return status;
	if (out_open(&run->out, &tally_table, opt->common.format, opt->common.output, stdout) < 0)
		return out_explain(&run->out);
	status = load(run);
	out_close(&run->out);
	budget_free(&run->budget);
	return status;
}

int
main(int argc, char **argv)
{
	struct options opt = {
		.select = SELECT_ALL,
		.workers = WORKERS,
		.budget = BUDGET_NO_SHARE,
		.min = -1,
	};
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	struct run run = { .options = &opt };
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);

	if (first < 0)
		return status;
	run.operands = argv + first;
	run.count = (size_t)(argc - first);
	status = select_check(&opt.select, opt.common.format, run.operands, run.count);
	if (status != STATUS_DONE)
		return status;
	if (opt.workers < 1 || opt.workers > MAX_WORKERS)
		return opts_misuse("--jobs: from 1 to %d", MAX_WORKERS);
	stop_catch(opt.common.timeout);
	return run_with(&run);
}
