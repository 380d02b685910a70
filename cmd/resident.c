/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resident: which files are in the page cache, and how much of each */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "diag.h"
#include "diff.h"
#include "fd.h"
#include "inventory.h"
#include "missing.h"
#include "num.h"
#include "openfiles.h"
#include "opts.h"
#include "payers.h"
#include "pids.h"
#include "report.h"
#include "select.h"
#include "status.h"
#include "stop.h"
#include "survey.h"

#define DEEPEST 4096 /* folders that --depth can tell apart */

struct options {
	struct select select;
	struct pids_options pids;
	struct report_choice choice;
	struct opts_common common;
	uint64_t depth; /* of folders that have a row; NUM_UNKNOWN: none has */
	double min;     /* below 0: none */
	bool map, holes, owner;
	const char *diff, *save; /* snapshots; NULL: none */
};

#define FIELD(name) offsetof(struct options, name)

static const struct opts_option own_options[] = {
	{ 0, "depth", "N", opts_count, FIELD(depth),
	    "a row for each folder down to N levels, as du" },
	{ 0, "sort", "KEY", opts_text, FIELD(choice.sort),
	    "files (or folders) in the order of a field; none: as found" },
	{ 0, "rows", "N", opts_count, FIELD(choice.rows),
	    "only the first N of them (by resident_bytes)" },
	{ 0, "columns", "LIST", opts_text, FIELD(choice.columns), "only these fields, by commas" },
	{ 0, "min", "PCT", opts_percent, FIELD(min), "exit 2 where less of a PATH is in memory" },
	{ 0, "map", NULL, opts_flag, FIELD(map), "draw which parts of each file are in memory" },
	{ 0, "holes", NULL, opts_flag, FIELD(holes),
	    "instead, list what is missing: OFFSET:LENGTH, tab, path" },
	{ 0, "owner", NULL, opts_flag, FIELD(owner),
	    "instead, tell which memory cgroups pay (CAP_SYS_ADMIN)" },
	{ 0, "diff", "FILE", opts_text, FIELD(diff),
	    "instead, what came and went since the snapshot FILE" },
	{ 0, "save", "FILE", opts_text, FIELD(save),
	    "write what is in memory to FILE, a snapshot, as well" },
	{ 0 },
};

static const struct opts_tool tool = {
	.name = "resident",
	.synopsis = "[options] PATH...\n[options] --files-from=FILE [PATH...]\n"
		    "[options] --pid=PID|--cgroup=PATH|--all\n[options] --diff=FILE [PATH...]",
	.summary = "Show how much of files, and of the files below folders, is in the page cache.",
	.tables = { &footprint_table, &owners_table, &change_table },
};

/* All that lasts: a worker may hang in the kernel longer than main takes. */
struct state {
	struct options options;
	struct openfiles openfiles;
	struct report report;
	struct survey survey;
	struct inventory inventory;
	struct missing missing;
	struct payers payers;
	struct diff diff;
};

/* Whether the ways to report go together with each other, and with how rows are chosen. */
static int
check_views(const struct options *options)
{
	const struct report_choice *choice = &options->choice;
	bool text = options->map || options->holes, deep = options->depth != NUM_UNKNOWN;

	if (options->map + options->holes + options->owner + !!options->diff > 1)
		return opts_misuse("only one of --map, --holes, --owner and --diff at a time");
	if ((options->holes || options->owner) && (deep || choice->sort || choice->rows))
		return opts_misuse("--holes and --owner go without --depth, --sort and --rows");
	if ((options->holes || options->owner) && options->save)
		return opts_misuse("--holes and --owner go without --save");
	if (options->holes && choice->columns)
		return opts_misuse("--holes has no columns to choose from");
	if (text && options->common.format != OUT_TEXT)
		return opts_misuse("--map and --holes are text: they go without another --format");
	if (options->diff && (deep || options->min >= 0))
		return opts_misuse("--diff goes with neither --depth nor --min");
	if (deep && options->depth > DEEPEST)
		return opts_misuse("--depth is at most %d", DEEPEST);
	return STATUS_DONE;
}

/* The processes that stand for their files. */
static int
choose_processes(struct state *state, size_t count)
{
	const struct options *options = &state->options;

	if (options->depth != NUM_UNKNOWN || options->diff)
		return opts_misuse("%s does not go with the files of processes",
		    options->diff ? "--diff" : "--depth");
	if (pids_check(&options->pids, &options->select, count) != STATUS_DONE)
		return STATUS_UNKNOWN;
	if (openfiles_begin(&state->openfiles, &options->pids, &options->select) < 0) {
		diag_file("/proc", errno);
		return STATUS_UNKNOWN;
	}
	state->report.operands = state->openfiles.names;
	state->report.count = state->openfiles.count;
	state->report.save.strangers = true;
	state->survey.openfiles = &state->openfiles;
	return STATUS_DONE;
}

/* What is looked at: operands, the files of processes, or those of a snapshot. */
static int
choose_files(struct state *state, char **operands, size_t count)
{
	struct options *options = &state->options;
	struct report *report = &state->report;

	options->select.nul_output = options->holes;
	report->operands = operands;
	report->count = count;
	report->list = options->select.files_from;
	if (pids_asked(&options->pids)) {
		if (choose_processes(state, count) != STATUS_DONE)
			return STATUS_UNKNOWN;
	} else if (options->diff && !count && !report->list) {
		report->together = options->diff; /* until it is read it stands for its files */
		report->operands = (char **)&report->together;
		report->count = 1;
	}
	return select_check(&options->select, options->common.format, report->operands,
	    report->count);
}

static void
set_view(struct survey *survey, const struct view *view, void *self)
{
	survey->view = view;
	survey->self = self;
}

static void
choose_view(struct state *state)
{
	const struct options *options = &state->options;
	struct survey *survey = &state->survey;
	struct report *report = &state->report;

	if (options->holes) {
		state->missing = (struct missing){ report, options->select.nul };
		set_view(survey, &missing_view, &state->missing);
	} else if (options->owner) {
		state->payers.report = report;
		set_view(survey, &payers_view, &state->payers);
	} else if (options->diff) {
		state->diff.report = report;
		state->diff.snapshot = options->diff;
		state->diff.select = &options->select;
		set_view(survey, &diff_view, &state->diff);
	} else {
		state->inventory.report = report;
		state->inventory.depth = options->depth;
		state->inventory.map = options->map;
		set_view(survey, &inventory_view, &state->inventory);
	}
}

/* Which rows are wanted, and in which order. */
static int
choose_rows(struct state *state)
{
	const struct options *options = &state->options;
	struct report *report = &state->report;
	struct survey *survey = &state->survey;
	bool deep = options->depth != NUM_UNKNOWN;
	int status;

	state->options.choice.labels = options->common.format == OUT_PROM;
	status = report_choose(report, &options->choice, survey->view->table, survey->view->most);

	/* in prom a label a file is too many */
	report->each_file = options->common.verbose > 0 && options->common.format != OUT_PROM;
	report->each_file |= report->sorted && !deep && !options->diff;
	survey->by_folder = deep || options->diff;
	/* in a snapshot, the same of several hard links comes first as in another */
	survey->in_order = options->save || options->diff || options->holes ||
	    ((report->each_file || deep) && !options->choice.sort && !report->sorted);
	return status;
}

static int
choose(struct state *state, char **operands, size_t count)
{
	int status = check_views(&state->options);

	if (status == STATUS_DONE)
		status = choose_files(state, operands, count);
	if (status != STATUS_DONE)
		return status;
	choose_view(state);
	return choose_rows(state);
}

static int
run(struct state *state)
{
	const struct options *options = &state->options;
	struct survey *survey = &state->survey;
	int status = report_open(&state->report, &options->common, options->save);

	survey->select = &options->select;
	survey->report = &state->report;
	survey->min = options->min;
	if (status == STATUS_DONE && survey->view->begin)
		status = survey->view->begin(survey->self);
	if (status == STATUS_DONE)
		status = survey_run(survey);
	report_close(&state->report);
	return status;
}

int
main(int argc, char **argv)
{
	static struct state state;
	struct options *options = &state.options;
	struct opts_group groups[] = { { select_options, &options->select },
		{ pids_options, &options->pids }, { own_options, options }, { 0 } };
	int first, status;

	*options = (struct options){ .select = SELECT_ALL, .depth = NUM_UNKNOWN, .min = -1 };
	first = opts_parse(&tool, groups, &options->common, argc, argv, &status);
	if (first < 0)
		return status;
	status = choose(&state, argv + first, (size_t)(argc - first));
	if (status != STATUS_DONE)
		return status;
	stop_catch(options->common.timeout);
	fd_raise_limit();
	return run(&state);
}
