/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resident: which files are in the page cache, and how much of each */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "diag.h"
#include "each.h"
#include "footprint.h"
#include "minimum.h"
#include "num.h"
#include "openfiles.h"
#include "opts.h"
#include "out.h"
#include "pids.h"
#include "progress.h"
#include "residency.h"
#include "rollup.h"
#include "rows.h"
#include "select.h"
#include "status.h"
#include "stop.h"

#define OUTPUT_BUFFER 65536
#define AS_FOUND      "none"     /* --sort: rows as the walk finds them */
#define MOST          "resident" /* --rows alone: those with most in memory */
#define DEEPEST       4096       /* folders that --depth can tell apart */

struct options {
	struct select select;
	struct opts_common common;
	struct pids_options pids;
	const char *sort, *columns;
	uint64_t rows;  /* 0: all */
	uint64_t depth; /* of folders that have a row; NUM_UNKNOWN: none has */
	double min;     /* below 0: none */
};

#define FIELD(name) offsetof(struct options, name)

static const struct opts_option own_options[] = {
	{ 0, "depth", "N", opts_count, FIELD(depth),
	    "a row for each folder down to N levels, as du" },
	{ 0, "sort", "KEY", opts_text, FIELD(sort),
	    "files (or folders) in the order of a field; none: as found" },
	{ 0, "rows", "N", opts_count, FIELD(rows), "only the first N of them (by resident_bytes)" },
	{ 0, "columns", "LIST", opts_text, FIELD(columns), "only these fields, by commas" },
	{ 0, "min", "PCT", opts_percent, FIELD(min), "exit 2 where less of a PATH is in memory" },
	{ 0 },
};

static const struct opts_tool tool = {
	.name = "resident",
	.synopsis = "[options] PATH...\n[options] --files-from=FILE [PATH...]\n"
		    "[options] --pid=PID|--cgroup=PATH|--all",
	.summary = "Show how much of files, and of the files below folders, is in the page cache.",
	.table = &footprint_table,
};

/* What a worker finds out of a file. */
struct look {
	struct residency residency;
};

struct state {
	const struct options *options;
	char **operands;
	size_t count;
	struct openfiles openfiles; /* of processes: these are the operands */
	struct out out;
	struct columns columns;
	struct rows rows;
	struct rollup rollup;
	struct progress progress;
	bool each_file; /* a row for each */
	bool sorted;    /* those rows wait in rows */
	int error;      /* errno of what failed in writing, or keeping, a row */
	size_t operand; /* that current is of */
	struct footprint current, all;
	enum status status; /* of conditions */
	bool worked;        /* some operand did */
};

static void
keep_error(struct state *state, int result)
{
	if (result < 0 && !state->error)
		state->error = errno;
}

/* The row of an operand, or of all. */
static void
put_row(struct state *state, const char *path, const struct footprint *footprint)
{
	struct out_value values[OUT_FIELDS];

	footprint_values(footprint, path, values);
	progress_clear(&state->progress);
	if (!state->error)
		keep_error(state, out_row(&state->out, values));
}

/* The row of a file or folder below an operand. */
static void
add_row(struct state *state, const char *path, const struct footprint *footprint)
{
	struct out_value values[OUT_FIELDS];

	if (!state->sorted) {
		put_row(state, path, footprint);
		return;
	}
	footprint_values(footprint, path, values);
	if (!state->error)
		keep_error(state, rows_add(&state->rows, values));
}

static const char *
operand_name(const struct state *state, size_t operand)
{
	return operand < state->count ? state->operands[operand]
				      : state->options->select.files_from;
}

static void
work(struct each_file *file, void *argument)
{
	struct state *state = argument;
	struct look *look = file->result;

	residency_query(file->fd, &file->status, file->offset, file->length, &look->residency);
	progress_add(&state->progress, file->length);
}

static void
report(const struct each_file *file, void *argument)
{
	struct state *state = argument;
	const struct look *look = file->result;
	const struct residency *residency = &look->residency;
	struct footprint single = { 0 };

	state->operand = file->operand;
	if (file->error) {
		progress_clear(&state->progress);
		diag_error("%s: %s", file->path, each_error(file));
		single.errors = 1;
	} else {
		if (residency->why == RESIDENCY_ERROR)
			diag_file(file->path, residency->error);
		footprint_file(&single, file->length, residency);
	}
	footprint_add(&state->current, &single);
	if (state->rollup.levels)
		rollup_add(&state->rollup, file->depth, &single);
	/* an operand that is a file gets its row anyway */
	if (state->each_file && !file->error &&
	    strcmp(file->path, operand_name(state, file->operand)) != 0)
		add_row(state, file->path, &single);
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct state *state = argument;
	struct footprint sum;

	/* an operand has its row anyway; all that a list names is one */
	if (rollup_leave(&state->rollup, depth, &sum) && (depth || operand >= state->count))
		add_row(state, path, &sum);
}

static void
explain_unknown(const char *name, const struct footprint *sum)
{
	if (sum->forbidden)
		diag_error(
		    "%s: residency of %llu of %llu files is unknown: the kernel tells it only "
		    "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)sum->forbidden, (unsigned long long)sum->files);
	if (sum->elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS): their residency is unknown",
		    name, (unsigned long long)sum->elsewhere, (unsigned long long)sum->files);
}

static void
find_open(size_t operand, struct each_run *run, void *argument)
{
	struct state *state = argument;

	openfiles_find(&state->openfiles, operand, run);
}

/* What is hidden of processes counts as errors, but not as if they were not there. */
static void
take_hidden(const struct openfiles *openfiles, size_t operand, struct footprint *sum)
{
	const struct openfiles_hidden *hidden;

	if (operand >= openfiles->count)
		return;
	hidden = &openfiles->hidden[operand];
	sum->errors += hidden->processes + hidden->files;
	openfiles_explain(openfiles, operand);
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct state *state = argument;
	struct footprint *current = &state->current;
	bool worked = current->files || !current->errors;
	enum status met;

	progress_clear(&state->progress);
	take_hidden(&state->openfiles, operand, current);
	if (worked) {
		state->worked = true;
		put_row(state, name, current);
	}
	explain_unknown(name, current);
	met = minimum_check(name, state->options->min,
	    !current->unknown && !current->errors && current->pages != NUM_UNKNOWN,
	    current->resident, current->pages);
	state->status = status_worse(state->status, met);
	footprint_add(&state->all, current);
	*current = (struct footprint){ 0 };
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct state *state)
{
	const struct options *options = state->options;
	bool stopped = stop_asked() != 0;

	if (stopped && (state->current.files || state->current.errors))
		operand_done(state->operand, operand_name(state, state->operand), state);
	progress_clear(&state->progress);
	if (state->out.format == OUT_TEXT && state->count + !!options->select.files_from > 1)
		put_row(state, "total", &state->all);
	if (!state->error)
		keep_error(state, rows_report(&state->rows, &state->out));
	if (!state->error)
		keep_error(state, out_finish(&state->out, !stopped && state->worked));
	if (state->error) {
		errno = state->error;
		return out_explain(&state->out);
	}
	if (stop_asked() == SIGALRM) {
		diag_error("not done within the time allowed (--timeout): "
			   "the figures are of what was seen until then");
		return STATUS_UNKNOWN;
	}
	if (stopped)
		return stop_status(STATUS_FAILED);
	if (!state->worked)
		return STATUS_FAILED;
	return diag_errors() ? status_worse(state->status, STATUS_PART) : STATUS_DONE;
}

/* Which rows are wanted, and in which order. */
static int
choose_rows(struct state *state)
{
	const struct options *options = state->options;
	const char *sort = options->sort ? options->sort : options->rows ? MOST : NULL;
	const char *wrong;

	if (options->depth != NUM_UNKNOWN && options->depth > DEEPEST)
		return opts_misuse("--depth is at most %d", DEEPEST);
	if (options->depth != NUM_UNKNOWN && pids_asked(&options->pids))
		return opts_misuse("--depth does not go with the files of processes");
	/* in prom a label a file is too many */
	state->each_file = options->common.verbose > 0 && options->common.format != OUT_PROM;
	if (sort && strcmp(sort, AS_FOUND) != 0) {
		state->rows = (struct rows){
			.table = &footprint_table,
			.field = rows_field(&footprint_table, sort),
			.limit = options->rows,
		};
		if (state->rows.field < 0)
			return opts_misuse("--sort: no field is called %s", sort);
		state->sorted = true;
		state->each_file |= options->depth == NUM_UNKNOWN;
	} else if (options->rows)
		return opts_misuse("--rows goes with an order: not --sort=none");
	if (options->columns &&
	    columns_choose(&state->columns, &footprint_table, options->columns, &wrong) < 0)
		return opts_misuse("--columns: no field is called %.*s", (int)strcspn(wrong, ","),
		    wrong);
	return STATUS_DONE;
}

static int
open_output(struct state *state)
{
	const struct opts_common *common = &state->options->common;
	bool chosen = state->options->columns != NULL;
	const struct out_table *table = chosen ? &state->columns.table : &footprint_table;

	if (out_open(&state->out, table, common->format, common->output, stdout) < 0)
		return out_explain(&state->out);
	state->out.from = chosen ? state->columns.from : NULL;
	return STATUS_DONE;
}

/* What stands for files: operands, or processes. */
static int
choose_files(struct state *state, char **operands, size_t count)
{
	const struct options *options = state->options;
	const struct select *select = &options->select;

	state->operands = operands;
	state->count = count;
	if (pids_asked(&options->pids)) {
		if (pids_check(&options->pids, select, count) != STATUS_DONE)
			return STATUS_UNKNOWN;
		if (openfiles_begin(&state->openfiles, &options->pids, select) < 0) {
			diag_file("/proc", errno);
			return STATUS_UNKNOWN;
		}
		state->operands = state->openfiles.names;
		state->count = state->openfiles.count;
	}
	return select_check(select, options->common.format, state->operands, state->count);
}

static int
run(struct state *state)
{
	const struct options *options = state->options;
	struct each each = {
		.select = &options->select,
		.in_order = (state->each_file || options->depth != NUM_UNKNOWN) && !options->sort &&
		    !state->sorted,
		.result_size = sizeof(struct look),
		.work = work,
		.find = pids_asked(&options->pids) ? find_open : NULL,
		.report = report,
		.folder_done = options->depth != NUM_UNKNOWN ? folder_done : NULL,
		.operand_done = operand_done,
		.argument = state,
	};

	if (each.folder_done && rollup_begin(&state->rollup, (size_t)options->depth) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	progress_begin(&state->progress, 0, options->common.quiet);
	if (each_run(&each, state->operands, state->count) < 0) {
		diag_file(options->select.files_from ? options->select.files_from : "cannot start",
		    errno);
		return STATUS_FAILED;
	}
	return finish(state);
}

int
main(int argc, char **argv)
{
	static char buffer[OUTPUT_BUFFER];
	static struct state state;
	struct options options = { .select = SELECT_ALL, .depth = NUM_UNKNOWN, .min = -1 };
	struct opts_group groups[] = { { select_options, &options.select },
		{ pids_options, &options.pids }, { own_options, &options }, { 0 } };
	int first, status;

	first = opts_parse(&tool, groups, &options.common, argc, argv, &status);
	if (first < 0)
		return status;
	state.options = &options;
	status = choose_files(&state, argv + first, (size_t)(argc - first));
	if (status == STATUS_DONE)
		status = choose_rows(&state);
	if (status != STATUS_DONE)
		return status;
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	stop_catch(options.common.timeout);
	status = open_output(&state);
	if (status != STATUS_DONE)
		return status;
	status = run(&state);
	out_close(&state.out);
	return status;
}
