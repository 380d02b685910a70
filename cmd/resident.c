/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resident: which files are in the page cache, and how much of each */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "each.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "residency.h"
#include "select.h"
#include "status.h"
#include "stop.h"

#define OUTPUT_BUFFER 65536

enum field {
	F_PATH,
	F_FILES,
	F_SIZE,
	F_PAGES,
	F_RESIDENT_PAGES,
	F_RESIDENT,
	F_RATIO,
	F_DIRTY,
	F_WRITEBACK,
	F_EVICTED,
	F_RECENTLY_EVICTED,
	F_UNKNOWN,
	F_ERRORS,
	F_METHOD,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand, or file (-v)" },
	[F_FILES] = { "files", OUT_COUNT, "resident_files", false, "files looked at" },
	[F_SIZE] = { "size_bytes", OUT_BYTES, "resident_size_bytes", false,
	    "their size, or what --range selects of it" },
	[F_PAGES] = { "pages", OUT_COUNT, "resident_pages", false, "pages of these bytes" },
	[F_RESIDENT_PAGES] = { "resident_pages", OUT_COUNT, "resident_resident_pages", false,
	    "of these, pages in memory" },
	[F_RESIDENT] = { "resident_bytes", OUT_BYTES, "resident_resident_bytes", false,
	    "memory that these pages take" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "resident_ratio", false,
	    "resident_pages / pages; none without pages" },
	[F_DIRTY] = { "dirty_bytes", OUT_BYTES, "resident_dirty_bytes", false,
	    "in memory and yet to be written" },
	[F_WRITEBACK] = { "writeback_bytes", OUT_BYTES, "resident_writeback_bytes", false,
	    "being written" },
	[F_EVICTED] = { "evicted_pages", OUT_COUNT, "resident_evicted_pages", false,
	    "pages that were in memory once and left" },
	[F_RECENTLY_EVICTED] = { "recently_evicted_pages", OUT_COUNT,
	    "resident_recently_evicted_pages", false,
	    "of these, pages that memory was too short to keep" },
	[F_UNKNOWN] = { "unknown_files", OUT_COUNT, "resident_unknown_files", false,
	    "files that only count in files: nothing is known of their pages" },
	[F_ERRORS] = { "errors", OUT_COUNT, "resident_errors", false,
	    "files and folders that could not be opened or read" },
	[F_METHOD] = { "method", OUT_STRING, NULL, false, "cachestat, mincore, unknown or mixed" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_SIZE, "SIZE", 7, false },
	{ F_RESIDENT, "RESIDENT", 8, false },
	{ F_RATIO, "PERCENT", 7, false },
	{ F_DIRTY, "DIRTY", 7, false },
	{ F_UNKNOWN, "UNKNOWN", 7, false },
	{ F_METHOD, "METHOD", -9, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

static const struct out_table table = { .fields = fields, .count = FIELDS, .columns = columns };

static const struct opts_tool tool = {
	.name = "resident",
	.synopsis = "[options] PATH...\n[options] --files-from=FILE [PATH...]",
	.summary = "Show how much of files, and of the files below folders, is in the page cache.",
	.table = &table,
};

/* Sums over files; sizes may be more than a number holds (num_sum), sparse as files are. */
struct totals {
	uint64_t files, size, pages, resident, dirty, writeback, evicted, recently_evicted;
	uint64_t unknown, errors;
	uint64_t forbidden, elsewhere; /* of the unknown: why */
	bool sketchy;                  /* dirty and what follows miss some files */
	enum residency_method method;
	bool mixed; /* methods */
};

struct state {
	const struct select *select;
	char **operands;
	size_t count;
	bool each_file; /* -v: a row for each */
	struct out out;
	int out_error;  /* errno of what failed in writing */
	size_t operand; /* that current is of */
	struct totals current, all;
	bool worked; /* some operand did */
};

static void
add_method(struct totals *totals, enum residency_method method, bool mixed)
{
	if (mixed || (totals->files && totals->method != method))
		totals->mixed = true;
	totals->method = method;
}

static void
add_file(struct totals *totals, uint64_t size, const struct residency *residency)
{
	add_method(totals, residency->method, false);
	totals->files++;
	if (residency->method == RESIDENCY_UNKNOWN) {
		totals->unknown++;
		totals->forbidden += residency->why == RESIDENCY_NO_PERMISSION;
		totals->elsewhere += residency->why == RESIDENCY_NOT_PAGE_CACHE;
		return;
	}
	totals->size = num_sum(totals->size, size);
	totals->pages = num_sum(totals->pages, residency->pages);
	totals->resident = num_sum(totals->resident, residency->resident);
	totals->sketchy |= !residency->detailed;
	totals->dirty += residency->dirty;
	totals->writeback += residency->writeback;
	totals->evicted += residency->evicted;
	totals->recently_evicted += residency->recently_evicted;
}

static void
add_totals(struct totals *sum, const struct totals *part)
{
	if (part->files)
		add_method(sum, part->method, part->mixed);
	sum->files += part->files;
	sum->size = num_sum(sum->size, part->size);
	sum->pages = num_sum(sum->pages, part->pages);
	sum->resident = num_sum(sum->resident, part->resident);
	sum->dirty += part->dirty;
	sum->writeback += part->writeback;
	sum->evicted += part->evicted;
	sum->recently_evicted += part->recently_evicted;
	sum->unknown += part->unknown;
	sum->errors += part->errors;
	sum->sketchy |= part->sketchy;
}

static const char *
method_name(const struct totals *totals)
{
	if (totals->files == 0)
		return NULL;
	return totals->mixed ? "mixed" : residency_method_name(totals->method);
}

static void
put_row(struct state *state, const char *path, const struct totals *totals)
{
	struct out_value values[FIELDS] = { 0 };
	uint64_t page = residency_page_size();

	values[F_PATH] = out_string(path);
	values[F_FILES] = out_number(totals->files);
	values[F_UNKNOWN] = out_number(totals->unknown);
	values[F_ERRORS] = out_number(totals->errors);
	values[F_METHOD] = out_string(method_name(totals));
	if (totals->files == 0 || totals->unknown < totals->files) {
		values[F_SIZE] = out_sum(totals->size);
		values[F_PAGES] = out_sum(totals->pages);
		values[F_RESIDENT_PAGES] = out_number(totals->resident);
		values[F_RESIDENT] = out_number(totals->resident * page);
		if (totals->pages != NUM_UNKNOWN)
			values[F_RATIO] = out_percent(totals->resident, totals->pages);
		if (!totals->sketchy) {
			values[F_DIRTY] = out_number(totals->dirty * page);
			values[F_WRITEBACK] = out_number(totals->writeback * page);
			values[F_EVICTED] = out_number(totals->evicted);
			values[F_RECENTLY_EVICTED] = out_number(totals->recently_evicted);
		}
	}
	if (!state->out_error && out_row(&state->out, values) < 0)
		state->out_error = errno;
}

static const char *
operand_name(const struct state *state, size_t operand)
{
	return operand < state->count ? state->operands[operand] : state->select->files_from;
}

static void
work(struct each_file *file, void *argument)
{
	(void)argument;
	residency_query(file->fd, &file->status, file->offset, file->length, file->result);
}

static void
report(const struct each_file *file, void *argument)
{
	struct state *state = argument;
	const struct residency *residency = file->result;
	struct totals single = { 0 };

	state->operand = file->operand;
	if (file->error) {
		state->current.errors++;
		diag_error("%s: %s", file->path, each_error(file));
		return;
	}
	if (residency->why == RESIDENCY_ERROR)
		diag_file(file->path, residency->error);
	add_file(&state->current, file->length, residency);
	/* an operand that is a file gets its row anyway; in prom a label a file is too many */
	if (!state->each_file || state->out.format == OUT_PROM ||
	    strcmp(file->path, operand_name(state, file->operand)) == 0)
		return;
	add_file(&single, file->length, residency);
	put_row(state, file->path, &single);
}

static void
explain_unknown(const char *name, const struct totals *totals)
{
	if (totals->forbidden)
		diag_error(
		    "%s: residency of %llu of %llu files is unknown: the kernel tells it only "
		    "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)totals->forbidden, (unsigned long long)totals->files);
	if (totals->elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS): their residency is unknown",
		    name, (unsigned long long)totals->elsewhere, (unsigned long long)totals->files);
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct state *state = argument;
	struct totals *current = &state->current;

	(void)operand;
	if (current->files || !current->errors) {
		state->worked = true;
		put_row(state, name, current);
	}
	explain_unknown(name, current);
	add_totals(&state->all, current);
	*current = (struct totals){ 0 };
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct state *state)
{
	bool stopped = stop_asked() != 0;

	if (stopped && (state->current.files || state->current.errors))
		operand_done(state->operand, operand_name(state, state->operand), state);
	if (state->out.format == OUT_TEXT && state->count + !!state->select->files_from > 1)
		put_row(state, "total", &state->all);
	if (!state->out_error && out_finish(&state->out, !stopped && state->worked) < 0)
		state->out_error = errno;
	if (state->out_error) {
		errno = state->out_error;
		return out_explain(&state->out);
	}
	if (stop_asked() == SIGALRM) {
		diag_error("not done within the time allowed (--timeout): "
			   "the figures are of what was seen until then");
		return STATUS_UNKNOWN;
	}
	if (stopped)
		return stop_status(STATUS_FAILED);
	if (diag_errors() == 0)
		return STATUS_DONE;
	return state->worked ? STATUS_PART : STATUS_FAILED;
}

int
main(int argc, char **argv)
{
	static char buffer[OUTPUT_BUFFER];
	struct opts_common common = { 0 };
	struct select select = SELECT_ALL;
	struct opts_group groups[] = { { select_options, &select }, { 0 } };
	struct state state = { .select = &select };
	struct each each = {
		.select = &select,
		.result_size = sizeof(struct residency),
		.work = work,
		.report = report,
		.operand_done = operand_done,
		.argument = &state,
	};
	int first, status;

	first = opts_parse(&tool, groups, &common, argc, argv, &status);
	if (first < 0)
		return status;
	state.operands = argv + first;
	state.count = (size_t)(argc - first);
	state.each_file = common.verbose > 0;
	status = select_check(&select, common.format, state.operands, state.count);
	if (status != STATUS_DONE)
		return status;
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	stop_catch(common.timeout);
	if (out_open(&state.out, &table, common.format, common.output, stdout) < 0)
		return out_explain(&state.out);
	if (each_run(&each, state.operands, state.count) < 0) {
		diag_file(select.files_from ? select.files_from : "cannot start", errno);
		status = STATUS_FAILED;
	} else
		status = finish(&state);
	out_close(&state.out);
	return status;
}
