/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "missing.h"

#include <unistd.h>

#include "diag.h"
#include "rangelist.h"
#include "ranges.h"
#include "residency.h"

struct look {
	struct residency residency;
	struct ranges ranges;
};

static int
look_at(struct each_file *file, void *self)
{
	struct look *look = file->result;

	(void)self;
	if (look->residency.method == RESIDENCY_UNKNOWN)
		return 0;
	return ranges_missing(&look->ranges, file->fd, file->offset, file->length);
}

static void
release(void *result)
{
	struct look *look = result;

	ranges_free(&look->ranges);
}

static void
show_file(const struct each_file *file, const struct footprint *single, void *self)
{
	const struct missing *missing = self;
	struct report *report = missing->report;
	const struct look *look = file->result;

	(void)single;
	if (file->error || look->ranges.count == 0 || !report_ready(report))
		return;
	if (rangelist_holds(file->path, missing->nul))
		report_keep(report,
		    rangelist_write(report->out.stream, &look->ranges, file->path, missing->nul,
			isatty(report->out.fd)));
	else
		diag_error("%s: left out: only a list whose names end with NUL (-0) holds it",
		    file->path);
}

const struct view missing_view = {
	.table = &footprint_table,
	.by_page = true,
	.result_size = sizeof(struct look),
	.look = look_at,
	.release = release,
	.file = show_file,
};
