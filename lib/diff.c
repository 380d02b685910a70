/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff.h"

#include <errno.h>
#include <string.h>

#include "diag.h"
#include "residency.h"
#include "save.h"
#include "snapshot.h"

struct look {
	struct residency residency;
	struct snapshot_ranges ranges; /* in memory */
};

static enum status
begin(void *self)
{
	struct diff *diff = self;
	struct report *report = diff->report;
	enum status status = compare_begin(&diff->compare, diff->snapshot, diff->select);

	if (status != STATUS_DONE || !report->together)
		return status;
	report->operands = compare_paths(&diff->compare, &report->count);
	if (report->operands)
		return STATUS_DONE;
	diag_error("%s", strerror(errno));
	return STATUS_FAILED;
}

static int
look_at(struct each_file *file, void *self)
{
	const struct diff *diff = self;
	struct look *look = file->result;

	return save_look(&diff->report->save, file, &look->residency, &look->ranges);
}

static void
release(void *result)
{
	struct look *look = result;

	snapshot_ranges_free(&look->ranges);
}

/* Adds a file, which has a row where it differs. */
static void
add(struct diff *diff, const char *path, const struct change *change, bool has_row)
{
	struct report *report = diff->report;
	struct out_value values[OUT_FIELDS];

	change_add(&diff->current, change);
	/* in prom a label a file is too many */
	if (!report->each_file && (report->out.format == OUT_PROM || !change_differs(change)))
		return;
	if (!has_row || report_is_operand(report, diff->operand, path))
		return;
	change_values(change, path, values);
	report_add(report, values, NULL);
}

/* A file of the snapshot that is no more. */
static void
add_gone(const char *path, const struct change *change, void *self)
{
	add(self, path, change, true);
}

/* After all that is at PATH, or below it, has been seen: whether the snapshot has any of it. */
static bool
find_gone(struct diff *diff, const char *path)
{
	int found = compare_gone(&diff->compare, path, add_gone, diff);

	if (found < 0)
		diag_file(path, errno);
	return found > 0;
}

static bool
skip(const struct each_file *file, void *self)
{
	struct diff *diff = self;
	bool is_there = file->error != ENOENT && file->error != ENOTDIR;

	diff->operand = file->operand;
	/* in a folder where a file of the snapshot was; or such a file itself */
	return (diff->report->together && file->depth) ||
	    (!is_there && find_gone(diff, file->path));
}

static void
show_file(const struct each_file *file, const struct footprint *single, void *self)
{
	struct diff *diff = self;
	const struct look *look = file->result;
	struct change change = { 0 };

	(void)single;
	if (!file->error)
		save_add(&diff->report->save, file, &look->ranges);
	if (compare_file(&diff->compare, file, &look->residency, &look->ranges, &change) < 0)
		diag_file(file->path, errno);
	add(diff, file->path, &change, !file->error);
}

static void
show_folder(size_t operand, const char *path, size_t depth, void *self)
{
	struct diff *diff = self;

	diff->operand = operand;
	if (depth == 0)
		find_gone(diff, path);
}

static void
put(struct diff *diff, const char *name, const struct change *change)
{
	struct out_value values[OUT_FIELDS];

	change_values(change, name, values);
	report_put(diff->report, values, NULL);
}

static void
show_operand(const char *name, const struct footprint *sum, void *self)
{
	struct diff *diff = self;

	if (sum)
		put(diff, name, &diff->current);
	change_add(&diff->all, &diff->current);
	diff->current = (struct change){ 0 };
}

static void
show_total(const char *name, const struct footprint *all, void *self)
{
	struct diff *diff = self;

	(void)all;
	put(diff, name, &diff->all);
}

const struct view diff_view = {
	.table = &change_table,
	.most = "came",
	.result_size = sizeof(struct look),
	.begin = begin,
	.look = look_at,
	.release = release,
	.skip = skip,
	.file = show_file,
	.folder = show_folder,
	.operand = show_operand,
	.total = show_total,
};
