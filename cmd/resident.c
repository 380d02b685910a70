/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resident: which files are in the page cache, and how much of each */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"
#include "charges.h"
#include "columns.h"
#include "compare.h"
#include "diag.h"
#include "each.h"
#include "footprint.h"
#include "groups.h"
#include "heat.h"
#include "map.h"
#include "minimum.h"
#include "num.h"
#include "openfiles.h"
#include "opts.h"
#include "out.h"
#include "owners.h"
#include "pids.h"
#include "progress.h"
#include "rangelist.h"
#include "ranges.h"
#include "residency.h"
#include "rollup.h"
#include "rows.h"
#include "save.h"
#include "select.h"
#include "snapshot.h"
#include "status.h"
#include "stop.h"

#define OUTPUT_BUFFER 65536
#define AS_FOUND      "none"     /* --sort: rows as the walk finds them */
#define MOST          "resident" /* --rows alone: those with most in memory */
#define MOST_NEW      "came"     /* and with --diff */
#define DEEPEST       4096       /* folders that --depth can tell apart */

struct options {
	struct select select;
	struct opts_common common;
	struct pids_options pids;
	const char *sort, *columns;
	const char *save, *diff;
	uint64_t rows;  /* 0: all */
	uint64_t depth; /* of folders that have a row; NUM_UNKNOWN: none has */
	double min;     /* below 0: none */
	bool map, holes, owner;
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
	{ 0, "map", NULL, opts_flag, FIELD(map), "draw which parts of each file are in memory" },
	{ 0, "holes", NULL, opts_flag, FIELD(holes),
	    "instead, list what is missing: OFFSET:LENGTH, tab, path" },
	{ 0, "owner", NULL, opts_flag, FIELD(owner),
	    "instead, tell which memory cgroups pay (CAP_SYS_ADMIN)" },
	{ 0, "save", "FILE", opts_text, FIELD(save),
	    "write what is in memory to FILE, a snapshot" },
	{ 0, "diff", "FILE", opts_text, FIELD(diff),
	    "what came and went since the snapshot FILE; without PATH, of its files" },
	{ 0 },
};

static const struct opts_tool tool = {
	.name = "resident",
	.synopsis = "[options] PATH...\n[options] --files-from=FILE [PATH...]\n"
		    "[options] --pid=PID|--cgroup=PATH|--all\n[options] --diff=FILE [PATH...]",
	.summary = "Show how much of files, and of the files below folders, is in the page cache.",
	.table = &footprint_table,
};

/* What a worker finds out of a file. */
struct look {
	struct residency residency;
	char *map;                     /* --map: drawn; NULL: it has no row */
	struct ranges missing;         /* --holes */
	struct owners owners;          /* --owner */
	struct snapshot_ranges ranges; /* in memory, where that is asked for */
};

/* Who pays for pages (--owner), and where to find that out. */
struct payers {
	struct charges charges;
	struct groups groups;
	struct owners current, all;
};

/* What files come to: the second with --diff. */
struct sum {
	struct footprint footprint;
	struct change change;
};

struct state {
	const struct options *options;
	char **operands;
	size_t count;
	const struct out_table *table;
	struct openfiles openfiles; /* of processes: these are the operands */
	struct out out;
	struct columns columns;
	struct rows rows;
	struct rollup rollup;
	struct progress progress;
	bool each_file; /* a row for each */
	bool sorted;    /* those rows wait in rows */
	/* of the one row that all operands have; NULL: each has its own */
	const char *together;
	int error;      /* errno of what failed in writing, or keeping, a row */
	size_t operand; /* that current is of */
	struct payers payers;
	size_t map_parts; /* most that a line has room for */
	char *map;        /* below the row that is put next; NULL: none */
	struct sum current, all;
	struct save save;
	struct compare compare;
	struct heat heat;
	enum status status; /* of conditions */
	bool worked;        /* some operand did */
};

static void
keep_error(struct state *state, int result)
{
	if (result < 0 && !state->error)
		state->error = errno;
}

static void
drop_map(struct state *state)
{
	free(state->map);
	state->map = NULL;
}

static void
row_values(const struct state *state, const char *path, const struct sum *sum,
    struct out_value *values)
{
	if (state->compare.path)
		change_values(&sum->change, path, values);
	else
		footprint_values(&sum->footprint, path, values);
}

/* The row of an operand, or of all. */
static void
put_row(struct state *state, const char *path, const struct sum *sum)
{
	struct out_value values[OUT_FIELDS];

	row_values(state, path, sum, values);
	progress_clear(&state->progress);
	if (!state->error)
		keep_error(state, out_row(&state->out, values));
	if (!state->error && state->map)
		keep_error(state, out_line(&state->out, state->map));
	drop_map(state);
}

/* The row of a file or folder below an operand. */
static void
add_row(struct state *state, const char *path, const struct sum *sum)
{
	struct out_value values[OUT_FIELDS];

	if (!state->sorted) {
		put_row(state, path, sum);
		return;
	}
	row_values(state, path, sum, values);
	if (!state->error)
		keep_error(state, rows_add(&state->rows, values, state->map));
	drop_map(state);
}

static void
add_sum(struct sum *sum, const struct sum *part)
{
	footprint_add(&sum->footprint, &part->footprint);
	change_add(&sum->change, &part->change);
}

static const char *
operand_name(const struct state *state, size_t operand)
{
	if (state->together)
		return state->together;
	return operand < state->count ? state->operands[operand]
				      : state->options->select.files_from;
}

static bool
is_operand(const struct state *state, const struct each_file *file)
{
	return file->operand < state->count &&
	    strcmp(file->path, state->operands[file->operand]) == 0;
}

/* Beyond how much of FILE is in memory: which parts, or whose. */
static int
look_closer(const struct state *state, const struct each_file *file, struct look *look)
{
	const struct options *options = state->options;

	if (options->map && (state->each_file || is_operand(state, file))) {
		look->map = map_draw(file->fd, &file->status, file->offset, file->length,
		    state->map_parts);
		return look->map ? 0 : -1;
	}
	if (look->residency.method == RESIDENCY_UNKNOWN)
		return 0;
	if (options->holes)
		return ranges_missing(&look->missing, file->fd, file->offset, file->length);
	if (options->owner)
		return charges_count(&state->payers.charges, file->fd, file->offset, file->length,
		    &look->owners);
	return 0;
}

/* What is in memory, part by part, as mincore proves it. */
static void
find_ranges(const struct state *state, struct each_file *file, struct look *look)
{
	struct ranges present = { 0 };
	struct residency proved;

	residency_prove(file->fd, &file->status, file->offset, file->length, &proved);
	if (proved.method == RESIDENCY_UNKNOWN)
		look->residency = proved;
	else if (ranges_present(&present, file->fd, file->offset, file->length) < 0 ||
	    heat_split(&state->heat, file->fd, &present, &look->ranges) < 0)
		file->error = errno;
	ranges_free(&present);
}

static void
work(struct each_file *file, void *argument)
{
	struct state *state = argument;
	const struct options *options = state->options;
	struct look *look = file->result;
	bool by_page = options->holes || options->owner;

	(by_page ? residency_prove : residency_query)(file->fd, &file->status, file->offset,
	    file->length, &look->residency);
	if (look_closer(state, file, look) < 0)
		file->error = errno;
	if ((options->save || options->diff) && look->residency.resident)
		find_ranges(state, file, look);
	progress_add(&state->progress, 1);
}

static void
release(void *result)
{
	struct look *look = result;

	free(look->map);
	ranges_free(&look->missing);
	owners_free(&look->owners);
	snapshot_ranges_free(&look->ranges);
	look->map = NULL;
}

static void
put_missing(struct state *state, const char *path, const struct ranges *missing)
{
	bool nul = state->options->select.nul;

	progress_clear(&state->progress);
	if (missing->count && !rangelist_holds(path, nul))
		diag_error("%s: left out: only a list whose names end with NUL (-0) holds it",
		    path);
	else if (!state->error)
		keep_error(state, rangelist_write(state->out.stream, missing, path, nul));
}

static void
put_owners(struct state *state, const char *path, struct owners *owners)
{
	progress_clear(&state->progress);
	if (!state->error)
		keep_error(state, owners_report(owners, path, &state->payers.groups, &state->out));
}

/* Whether a file has a row of its own. (An operand that is a file gets its row anyway.) */
static bool
has_row(const struct state *state, const char *path, const struct sum *single)
{
	bool differs = state->compare.path && state->options->common.format != OUT_PROM &&
	    change_differs(&single->change);

	return (state->each_file || differs) &&
	    strcmp(path, operand_name(state, state->operand)) != 0;
}

/* What a file has of its own in the report. */
static void
report_file(struct state *state, const struct each_file *file, const struct sum *single)
{
	const struct options *options = state->options;
	struct look *look = file->result;
	bool row = has_row(state, file->path, single);

	if (options->holes)
		put_missing(state, file->path, &look->missing);
	else if (options->owner) {
		keep_error(state, owners_merge(&state->payers.current, &look->owners));
		if (row)
			put_owners(state, file->path, &look->owners);
	} else {
		state->map = look->map;
		look->map = NULL;
		if (row)
			add_row(state, file->path, single);
	}
	release(look); /* not only when its memory is used again: it may be much */
}

/* A file of the snapshot that is no more. */
static void
report_gone(const char *path, const struct change *change, void *argument)
{
	struct state *state = argument;
	struct sum single = { .change = *change };

	add_sum(&state->current, &single);
	if (has_row(state, path, &single))
		add_row(state, path, &single);
}

/* After all that is at PATH, or below it, has been seen: whether the snapshot has any of it. */
static bool
find_gone(struct state *state, const char *path)
{
	int found = state->compare.path ? compare_gone(&state->compare, path, report_gone, state)
					: 0;

	if (found < 0)
		diag_file(path, errno);
	return found > 0;
}

static void
report_error(struct state *state, const struct each_file *file, struct sum *single)
{
	progress_clear(&state->progress);
	diag_error("%s: %s", file->path, each_error(file));
	single->footprint.errors = 1;
}

static void
report(const struct each_file *file, void *argument)
{
	struct state *state = argument;
	const struct look *look = file->result;
	const struct residency *residency = &look->residency;
	struct sum single = { 0 };

	state->operand = file->operand;
	if ((file->error == EINTR && stop_asked()) || (state->together && file->depth))
		return; /* half of a file is no figure; in a folder where a file of the snapshot was */
	if ((file->error == ENOENT || file->error == ENOTDIR) && find_gone(state, file->path))
		return;
	if (file->error)
		report_error(state, file, &single);
	else {
		if (residency->why == RESIDENCY_ERROR)
			diag_file(file->path, residency->error);
		footprint_file(&single.footprint, file->length, residency);
		save_add(&state->save, file, &look->ranges);
	}
	if (state->compare.path &&
	    compare_file(&state->compare, file, residency, &look->ranges, &single.change) < 0)
		diag_file(file->path, errno);
	add_sum(&state->current, &single);
	if (state->rollup.levels)
		rollup_add(&state->rollup, file->depth, &single.footprint);
	if (!file->error)
		report_file(state, file, &single);
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct state *state = argument;
	struct sum sum = { 0 };

	state->operand = operand;
	if (depth == 0)
		find_gone(state, path);
	/* an operand has its row anyway; all that a list names is one */
	if (state->rollup.levels && rollup_leave(&state->rollup, depth, &sum.footprint) &&
	    (depth || operand >= state->count))
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

/* What the report has of an operand, or of all. */
static void
put_sum(struct state *state, const char *name, const struct sum *sum, struct owners *owners)
{
	if (state->options->owner)
		put_owners(state, name, owners);
	else if (!state->options->holes)
		put_row(state, name, sum);
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
finish_operand(struct state *state, size_t operand, const char *name)
{
	struct footprint *current = &state->current.footprint;
	bool worked = current->files || !current->errors;
	enum status met;

	progress_clear(&state->progress);
	take_hidden(&state->openfiles, operand, current);
	if (worked) {
		state->worked = true;
		put_sum(state, name, &state->current, &state->payers.current);
	}
	explain_unknown(name, current);
	met = minimum_check(name, state->options->min,
	    !current->unknown && !current->errors && current->pages != NUM_UNKNOWN,
	    current->resident, current->pages);
	state->status = status_worse(state->status, met);
	keep_error(state, owners_merge(&state->payers.all, &state->payers.current));
	owners_free(&state->payers.current);
	add_sum(&state->all, &state->current);
	state->current = (struct sum){ 0 };
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct state *state = argument;

	if (!state->together)
		finish_operand(state, operand, name);
}

/* Whether there is a row to come that no operand's end has brought. */
static bool
lacks_row(const struct state *state, bool stopped)
{
	const struct footprint *current = &state->current.footprint;

	return state->together || (stopped && (current->files || current->errors));
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct state *state)
{
	const struct options *options = state->options;
	bool stopped = stop_asked() != 0;

	if (lacks_row(state, stopped))
		finish_operand(state, state->operand, operand_name(state, state->operand));
	progress_clear(&state->progress);
	state->status = status_worse(state->status,
	    save_end(&state->save, !stopped && state->worked));
	if (state->out.format == OUT_TEXT && !state->together &&
	    state->count + !!options->select.files_from > 1)
		put_sum(state, "total", &state->all, &state->payers.all);
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

/* Whether what was asked for goes together. */
static int
check_views(const struct options *options)
{
	bool instead = options->holes || options->owner;

	if (options->map + options->holes + options->owner + !!options->diff > 1)
		return opts_misuse("only one of --map, --holes, --owner and --diff at a time");
	if (instead && options->save)
		return opts_misuse("--save goes with neither --holes nor --owner");
	if (instead && (options->depth != NUM_UNKNOWN || options->sort || options->rows))
		return opts_misuse("--holes and --owner go without --depth, --sort and --rows");
	if (options->holes && options->columns)
		return opts_misuse("--holes has no columns to choose from");
	if ((options->map || options->holes) && options->common.format != OUT_TEXT)
		return opts_misuse("--map and --holes are text: they go without another --format");
	return STATUS_DONE;
}

/* Which rows are wanted, and in which order. */
static int
choose_rows(struct state *state)
{
	const struct options *options = state->options;
	const char *most = options->diff ? MOST_NEW : MOST;
	const char *sort = options->sort ? options->sort : options->rows ? most : NULL;
	const char *wrong;

	state->table = options->owner ? &owners_table
	    : options->diff           ? &change_table
				      : &footprint_table;
	if (options->depth != NUM_UNKNOWN && options->depth > DEEPEST)
		return opts_misuse("--depth is at most %d", DEEPEST);
	if (options->diff && (options->depth != NUM_UNKNOWN || options->min >= 0))
		return opts_misuse("--diff goes with neither --depth nor --min");
	if (options->depth != NUM_UNKNOWN && pids_asked(&options->pids))
		return opts_misuse("--depth does not go with the files of processes");
	/* in prom a label a file is too many */
	state->each_file = options->common.verbose > 0 && options->common.format != OUT_PROM;
	if (sort && strcmp(sort, AS_FOUND) != 0) {
		state->rows = (struct rows){
			.table = state->table,
			.field = rows_field(state->table, sort),
			.limit = options->rows,
		};
		if (state->rows.field < 0)
			return opts_misuse("--sort: no field is called %s", sort);
		state->sorted = true;
		state->each_file |= options->depth == NUM_UNKNOWN && !options->diff;
	} else if (options->rows)
		return opts_misuse("--rows goes with an order: not --sort=none");
	if (options->columns &&
	    columns_choose(&state->columns, state->table, options->columns, &wrong) < 0)
		return opts_misuse("--columns: no field is called %.*s", (int)strcspn(wrong, ","),
		    wrong);
	return STATUS_DONE;
}

static int
open_output(struct state *state)
{
	const struct opts_common *common = &state->options->common;
	bool chosen = state->options->columns != NULL;
	const struct out_table *table = chosen ? &state->columns.table : state->table;

	if (out_open(&state->out, table, common->format, common->output, stdout) < 0)
		return out_explain(&state->out);
	state->out.from = chosen ? state->columns.from : NULL;
	state->map_parts = map_parts(state->out.stream);
	return STATUS_DONE;
}

/* Tells what --owner lacks here, and what would mend it. */
static int
open_payers(struct payers *payers)
{
	switch (charges_open(&payers->charges)) {
	case CHARGES_OPEN:
		break;
	case CHARGES_KERNEL:
		diag_error("--owner: there is no /proc/kpagecgroup: it needs a kernel with "
			   "CONFIG_MEMCG and CONFIG_PROC_PAGE_MONITOR");
		return STATUS_UNKNOWN;
	case CHARGES_PRIVILEGE:
		diag_error("--owner: the kernel shows page frames only to root with CAP_SYS_ADMIN, "
			   "not of a user namespace");
		return STATUS_UNKNOWN;
	case CHARGES_UNREADABLE:
		diag_file("/proc/kpagecgroup", errno);
		return STATUS_UNKNOWN;
	}
	if (groups_open(&payers->groups, "") == 0)
		return STATUS_DONE;
	diag_error("--owner: no hierarchy of memory cgroups is mounted "
		   "(mount -t cgroup2 none /sys/fs/cgroup)");
	return STATUS_UNKNOWN;
}

/* The snapshot to compare with, and the one to come. */
static int
open_snapshots(struct state *state)
{
	const struct options *options = state->options;
	int status = STATUS_DONE;

	if (options->diff)
		status = compare_begin(&state->compare, options->diff, &options->select);
	if (status == STATUS_DONE && state->together) {
		state->operands = compare_paths(&state->compare, &state->count);
		if (!state->operands) {
			diag_error("%s", strerror(errno));
			status = STATUS_FAILED;
		}
	}
	if (status == STATUS_DONE && options->save) {
		heat_begin(&state->heat);
		status = save_begin(&state->save, options->save);
	}
	return status;
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
	} else if (options->diff && !count && !select->files_from) {
		state->together = options->diff; /* for now it stands for its files */
		state->operands = (char **)&state->together;
		state->count = 1;
	}
	return select_check(select, options->common.format, state->operands, state->count);
}

static int
run(struct state *state)
{
	const struct options *options = state->options;
	bool deep = options->depth != NUM_UNKNOWN, snapshot = options->save || options->diff;
	struct each each = {
		.select = &options->select,
		/* of several hard links the same is found first as for the other snapshot */
		.in_order = snapshot ||
		    ((state->each_file || deep || options->holes) && !options->sort &&
			!state->sorted),
		.result_size = sizeof(struct look),
		.work = work,
		.release = release,
		.find = pids_asked(&options->pids) ? find_open : NULL,
		.report = report,
		.folder_done = deep || options->diff ? folder_done : NULL,
		.operand_done = operand_done,
		.argument = state,
	};

	if (deep && rollup_begin(&state->rollup, (size_t)options->depth) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	progress_begin(&state->progress, 0, options->common.quiet);
	state->progress.what = "files";
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
	options.select.nul_output = options.holes;
	status = choose_files(&state, argv + first, (size_t)(argc - first));
	if (status == STATUS_DONE)
		status = check_views(&options);
	if (status == STATUS_DONE)
		status = choose_rows(&state);
	if (status == STATUS_DONE && options.owner)
		status = open_payers(&state.payers);
	if (status != STATUS_DONE)
		return status;
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	stop_catch(options.common.timeout);
	status = open_output(&state);
	if (status == STATUS_DONE)
		status = open_snapshots(&state);
	if (status == STATUS_DONE)
		status = run(&state);
	save_end(&state.save, false);
	out_close(&state.out);
	return status;
}
