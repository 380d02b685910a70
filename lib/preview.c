/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's first pass: what is asked for, before anything is pinned. */
#include "keeper.h"

#include "each.h"
#include "holes.h"
#include "lookout.h"
#include "residency.h"

#define WORKERS 8 /* more than processors: they wait for the disk */

static uint64_t
whole_pages(const struct each_file *file)
{
	return residency_pages(file->offset, file->length) * residency_page_size();
}

static bool
breathe(void *argument)
{
	return keeper_breathe(argument);
}

static int
each_pass(struct keeper *keeper, struct each *each)
{
	each->breathe = breathe;
	each->select = keeper->select;
	each->argument = keeper;
	each->by_place = true;
	each->workers = WORKERS;
	return each_run(each, keeper->operands, keeper->count);
}

/* In a worker. */
static void
survey_work(struct each_file *file, void *argument)
{
	bool *holes = file->result;

	(void)argument;
	*holes = holes_sum(file->fd, file->offset, file->length) > 0;
}

static void
survey_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	struct hold *hold = &keeper->holds[file->operand];
	const bool *holes = file->result;
	size_t length;

	if (file->error) {
		keeper->partial = true;
		hold->failed++;
		keeper->complain(file->path, each_error(file));
		return;
	}
	/* watched before it is pinned, so that no change is missed */
	roster_split(file->path, &length);
	lookout_folder(keeper, file->path, length);
	keeper->files++;
	hold->files++;
	hold->asked = hold_sum(hold->asked, whole_pages(file));
	if (!*holes)
		return;
	keeper->partial = true;
	hold->failed++;
	keeper->complain(file->path, HOLES_WHY);
}

static void
survey_folder(size_t operand, const char *path, size_t depth, void *argument)
{
	lookout_own(argument, path, (uint32_t)operand, depth == 0);
}

int
keeper_survey(struct keeper *keeper)
{
	struct each each = {
		.result_size = sizeof(bool),
		.work = survey_work,
		.report = survey_report,
		.folder_done = survey_folder,
	};

	if (each_pass(keeper, &each) < 0)
		return -1;
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->asked = hold_sum(keeper->asked, keeper->holds[i].asked);
	return 0;
}

/* In a worker: into the result, bytes of whole pages that are not in memory. */
static void
missing_work(struct each_file *file, void *argument)
{
	uint64_t *missing = file->result;
	struct residency seen;

	(void)argument;
	residency_query(file->fd, &file->status, file->offset, file->length, &seen);
	*missing = whole_pages(file);
	if (seen.method != RESIDENCY_UNKNOWN && seen.resident <= seen.pages)
		*missing = (seen.pages - seen.resident) * residency_page_size();
}

static void
missing_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	const uint64_t *missing = file->result;

	if (!file->error)
		keeper->missing = hold_sum(keeper->missing, *missing);
}

int
keeper_missing(struct keeper *keeper, uint64_t *bytes)
{
	struct each each = {
		.result_size = sizeof(uint64_t),
		.work = missing_work,
		.report = missing_report,
	};

	keeper->missing = 0;
	if (each_pass(keeper, &each) < 0)
		return -1;
	*bytes = keeper->missing;
	return 0;
}
