/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's first pass: what is asked for, before anything is pinned. */
#include "keeper.h"

#include <string.h>
#include <unistd.h>

#include "aside.h"
#include "device.h"
#include "each.h"
#include "holes.h"
#include "lookout.h"
#include "pinning.h"
#include "residency.h"

static int
each_pass(struct keeper *keeper, struct each *each)
{
	int result;

	each->breathe = keeper_attend;
	each->select = keeper->select;
	each->argument = keeper;
	each->workers = PINNING_WORKERS;
	each->by_place = keeper->by_place;
	result = each_run(each, keeper->operands, keeper->count);
	links_free(&keeper->seen);
	return result;
}

/* As each file is pinned once, under whichever operands it is found; where memory is short, too
 * much is counted rather than too little. */
static bool
counts(struct keeper *keeper, const struct each_file *file)
{
	return keeper->select->count_links ||
	    links_add(&keeper->seen, file->status.st_dev, file->status.st_ino) != 0;
}

/* In a worker. */
static void
survey_work(struct each_file *file, void *argument)
{
	bool *holes = file->result;

	(void)argument;
	*holes = holes_any(file->fd, &file->status, file->offset, file->length);
}

/* The second pass need not say it again. */
static void
note_said(struct keeper *keeper, const struct each_file *file)
{
	const char *list = keeper->select->files_from;
	uint32_t number = ROSTER_NONE;

	if (!list || strcmp(list, file->path) != 0)
		number = pinning_enroll(keeper, file->path, (uint32_t)file->operand,
		    file->depth == 0);
	if (number != ROSTER_NONE)
		keeper->roster.files[number].said = true;
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
		note_said(keeper, file);
		return;
	}
	/* watched before it is pinned, so that no change is missed */
	roster_split(file->path, &length);
	lookout_folder(keeper, file->path, length);
	if (!counts(keeper, file))
		return;
	keeper->files++;
	hold->files++;
	hold->asked = hold_sum(hold->asked, pin_pages(-1, file->offset, file->length).length);
	if (!*holes)
		return;
	keeper->partial = true;
	hold->failed++;
	keeper->complain(file->path, HOLES_WHY);
	note_said(keeper, file);
}

static void
survey_folder(size_t operand, const char *path, size_t depth, void *argument)
{
	lookout_own(argument, path, (uint32_t)operand, depth == 0, false);
}

/* Aside. Where nothing has to seek, a look at each inode need not wait until all names of a folder
 * are there and sorted. */
static void
find_place(void *argument)
{
	struct keeper *keeper = argument;
	bool seeks = keeper->select->files_from != NULL; /* who knows */

	for (size_t i = 0; i < keeper->count; i++)
		seeks |= device_under(keeper->operands[i]).seeks;
	keeper->by_place = seeks;
}

int
keeper_survey(struct keeper *keeper)
{
	struct each each = {
		.result_size = sizeof(bool),
		/* who is not root has to see whether it can be read */
		.opens = geteuid() == 0 ? holes_may_be : NULL,
		.work = survey_work,
		.report = survey_report,
		.folder_done = survey_folder,
	};

	if (!aside_run_with(find_place, keeper, keeper_attend, keeper)) {
		keeper->hung = true;
		return 0;
	}
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
	*missing = pin_pages(-1, file->offset, file->length).length;
	if (seen.method != RESIDENCY_UNKNOWN && seen.resident <= seen.pages)
		*missing = (seen.pages - seen.resident) * residency_page_size();
}

static void
missing_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	const uint64_t *missing = file->result;

	if (!file->error && counts(keeper, file))
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
