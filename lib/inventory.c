/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "map.h"
#include "num.h"
#include "residency.h"
#include "save.h"
#include "snapshot.h"

struct look {
	struct residency residency;
	struct snapshot_ranges ranges; /* in memory, for a snapshot */
	char *map;                     /* NULL: it has no row */
};

static enum status
begin(void *self)
{
	struct inventory *inventory = self;

	inventory->parts = map_parts(inventory->report->out.fd);
	if (inventory->depth == NUM_UNKNOWN ||
	    rollup_begin(&inventory->rollup, (size_t)inventory->depth) == 0)
		return STATUS_DONE;
	diag_error("%s", strerror(errno));
	return STATUS_FAILED;
}

static int
look_at(struct each_file *file, void *self)
{
	const struct inventory *inventory = self;
	const struct report *report = inventory->report;
	struct look *look = file->result;

	if (inventory->map &&
	    (report->each_file || report_is_operand(report, file->operand, file->path))) {
		look->map = map_draw(file->fd, &file->status, file->offset, file->length,
		    inventory->parts);
		if (!look->map)
			return -1;
	}
	if (!report->save.path)
		return 0;
	return save_look(&report->save, file, &look->residency, &look->ranges);
}

static void
release(void *result)
{
	struct look *look = result;

	snapshot_ranges_free(&look->ranges);
	free(look->map);
	look->map = NULL;
}

static void
show_file(const struct each_file *file, const struct footprint *single, void *self)
{
	struct inventory *inventory = self;
	struct report *report = inventory->report;
	struct out_value values[OUT_FIELDS];
	struct look *look = file->result;

	if (inventory->rollup.levels)
		rollup_add(&inventory->rollup, file->depth, single);
	if (file->error)
		return;
	save_add(&report->save, file, &look->ranges);
	if (report_has_row(report, file->operand, file->path)) {
		footprint_values(single, file->path, values);
		report_add(report, values, look->map);
	} else {
		inventory->drawn = look->map;
		look->map = NULL;
	}
}

static void
show_folder(size_t operand, const char *path, size_t depth, void *self)
{
	struct inventory *inventory = self;
	struct out_value values[OUT_FIELDS];
	struct footprint sum;

	/* an operand has its row anyway; all that a list names is one */
	if (!rollup_leave(&inventory->rollup, depth, &sum) ||
	    (depth == 0 && operand < inventory->report->count))
		return;
	footprint_values(&sum, path, values);
	report_add(inventory->report, values, NULL);
}

static void
show_sum(const char *name, const struct footprint *sum, void *self)
{
	struct inventory *inventory = self;
	struct out_value values[OUT_FIELDS];

	if (sum) {
		footprint_values(sum, name, values);
		report_put(inventory->report, values, inventory->drawn);
	}
	free(inventory->drawn);
	inventory->drawn = NULL;
}

const struct view inventory_view = {
	.table = &footprint_table,
	.most = "resident",
	.result_size = sizeof(struct look),
	.begin = begin,
	.look = look_at,
	.release = release,
	.file = show_file,
	.folder = show_folder,
	.operand = show_sum,
	.total = show_sum,
};
