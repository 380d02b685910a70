/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pinning.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "each.h"
#include "grip.h"
#include "holes.h"
#include "lookout.h"
#include "pinning_run.h"
#include "relief.h"

static bool
is_link(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

bool
pinning_looks(const struct keeper *keeper, uint32_t folder, const char *path, bool named,
    nlink_t links)
{
	/* another name of it, or what a link leads to, lies in a folder that nobody watches */
	return keeper->roster.folders[folder].watch < 0 || links > 1 ||
	    ((named || keeper->select->follow) && is_link(path));
}

/* The folder of PATH, and what it is called there; ROSTER_NONE where it is no name of a file. */
static uint32_t
place_of(struct keeper *keeper, const char *path, const char **name)
{
	size_t length;

	*name = roster_split(path, &length);
	if (**name == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
		return ROSTER_NONE;
	return lookout_folder(keeper, path, length);
}

static uint32_t
add(struct keeper *keeper, uint32_t folder, const char *name, uint32_t owner, bool named,
    const struct stat *status)
{
	uint32_t number = roster_add(&keeper->roster, folder, name, owner, status->st_dev,
	    status->st_ino);

	if (number == ROSTER_NONE)
		return number;
	keeper->roster.files[number].named = keeper->roster.files[number].look = named;
	if (named)
		keeper->roster.folders[folder].root = true;
	return number;
}

uint32_t
pinning_enroll(struct keeper *keeper, const char *path, uint32_t owner, bool named)
{
	const char *name;
	uint32_t folder = place_of(keeper, path, &name), number;

	if (folder == ROSTER_NONE)
		return ROSTER_NONE;
	number = roster_find(&keeper->roster, folder, name);
	return number != ROSTER_NONE ? number
				     : add(keeper, folder, name, owner, named, &(struct stat){ 0 });
}

/* What is known of a file that is open. */
static void
note(struct keeper *keeper, uint32_t number, const struct each_file *file)
{
	struct roster_file *noted = &keeper->roster.files[number];

	if (noted->inode != file->status.st_ino || noted->device != file->status.st_dev)
		roster_replace(&keeper->roster, number, file->status.st_dev, file->status.st_ino);
	noted->named |= file->depth == 0;
	noted->size = (uint64_t)file->status.st_size;
	noted->changed = lookout_time(&file->status.st_ctim);
	noted->look = pinning_looks(keeper, noted->folder, file->path, noted->named,
	    file->status.st_nlink);
	if (noted->named)
		keeper->roster.folders[noted->folder].root = true;
}

/* There is no memory to know it by. */
static void
hand_over_none(struct keeper *keeper, const struct each_file *file)
{
	const struct pinning_outcome *outcome = file->result;

	if (!outcome->worked || outcome->place.share == UINT32_MAX)
		return;
	shares_drop(&keeper->shares, outcome->place);
	keeper_give(keeper, outcome->locked);
}

/* A file that is there already, by this or another name, gets what was pinned of it if nothing
 * else is. */
static void
hand_over(struct keeper *keeper, uint32_t number, const struct each_file *file)
{
	const struct pinning_outcome *outcome = file->result;
	const struct roster_file *known = &keeper->roster.files[number];

	if (!outcome->worked || outcome->place.share == UINT32_MAX)
		return;
	if (known->place.share == UINT32_MAX && known->inode == file->status.st_ino &&
	    known->device == file->status.st_dev) {
		grip_attach(keeper, number, outcome->place, outcome->locked);
		return;
	}
	shares_drop(&keeper->shares, outcome->place);
	keeper_give(keeper, outcome->locked);
}

/* The number of what is to be pinned under this name; ROSTER_NONE where it is there already, by
 * this or another name. */
static uint32_t
enroll(struct keeper *keeper, const struct each_file *file, uint32_t owner)
{
	struct roster *roster = &keeper->roster;
	const struct stat *status = &file->status;
	const char *name;
	uint32_t folder = place_of(keeper, file->path, &name), number, other = ROSTER_NONE;

	if (folder == ROSTER_NONE) {
		keeper->partial = true;
		hand_over_none(keeper, file);
		return ROSTER_NONE;
	}
	number = roster_find(roster, folder, name);
	if (!keeper->select->count_links)
		other = roster_inode(roster, status->st_dev, status->st_ino);
	if (number != ROSTER_NONE && roster->files[number].counted)
		other = number;
	if (other != ROSTER_NONE) {
		hand_over(keeper, other, file);
		/* one that was named is wanted, whatever becomes of the other */
		if (number == ROSTER_NONE && file->depth == 0)
			number = add(keeper, folder, name, owner, true, status);
		if (number != ROSTER_NONE && number != other) {
			note(keeper, number, file);
			roster->files[number].alias = true;
		}
		return ROSTER_NONE;
	}
	if (number == ROSTER_NONE)
		number = add(keeper, folder, name, owner, file->depth == 0, status);
	if (number == ROSTER_NONE) {
		hand_over_none(keeper, file);
		return number;
	}
	note(keeper, number, file);
	ledger_count(&keeper->ledger, roster, number, true);
	ledger_ask(&keeper->ledger, roster, number,
	    pin_pages(-1, file->offset, file->length).length);
	return number;
}

static void
report_error(struct keeper *keeper, const struct each_file *file, uint32_t owner)
{
	const char *list = keeper->select->files_from;
	uint32_t number = ROSTER_NONE;

	if (!list || strcmp(list, file->path) != 0)
		number = pinning_enroll(keeper, file->path, owner, file->depth == 0);
	if (number != ROSTER_NONE) {
		grip_fail(keeper, number, file->path, each_error(file));
		return;
	}
	keeper->holds[owner].failed++;
	keeper->complain(file->path, each_error(file));
}

/* Why a file that could be opened is not pinned; NULL: it waits for its turn. */
static const char *
why_not(const struct pinning_pass *pass, const struct pinning_outcome *outcome)
{
	if (!outcome->worked)
		return HOLES_WHY;
	if (outcome->over)
		return pass->fresh
		    ? GRIP_CROWDED
		    : "not pinned: files have grown meanwhile, and more is not allowed";
	if (outcome->failure == PIN_DONE || outcome->failure == PIN_MAPS)
		return NULL; /* there may be one more process for it */
	return grip_why(outcome->failure, outcome->error);
}

static void
report(const struct each_file *file, void *argument)
{
	struct pinning_pass *pass = argument;
	struct keeper *keeper = pass->keeper;
	const struct pinning_outcome *outcome = file->result;
	uint32_t owner = pass->fresh ? pass->owner : (uint32_t)file->operand, number;
	const char *why;

	if (file->error) {
		report_error(keeper, file, owner);
		return;
	}
	number = enroll(keeper, file, owner);
	if (outcome->halted)
		relief_withhold(keeper);
	if (number == ROSTER_NONE)
		return;
	ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	if (outcome->worked)
		grip_attach(keeper, number, outcome->place, outcome->locked);
	why = why_not(pass, outcome);
	if (why) {
		keeper->roster.files[number].crowded = outcome->over;
		grip_fail(keeper, number, file->path, why);
	} else if (keeper->roster.files[number].held < keeper->roster.files[number].length)
		keeper->wanting = true;
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct pinning_pass *pass = argument;
	struct keeper *keeper = pass->keeper;
	uint32_t owner = pass->fresh ? pass->owner : (uint32_t)operand;

	lookout_own(keeper, path, owner, depth == 0 && !pass->fresh, true);
	/* what is named may be a file the next time */
	if (depth == 0 && !pass->fresh)
		pinning_enroll(keeper, path, owner, true);
}

static bool
breathe(void *argument)
{
	struct pinning_pass *pass = argument;

	return keeper_attend(pass->keeper);
}

/* Each name of a file is reported: which of them comes first decides whose it is. */
static int
run(struct keeper *keeper, char **operands, size_t count, const char *list, const uint32_t *owner)
{
	struct pinning_pass *pass = calloc(1, sizeof *pass);
	struct each each = {
		.by_place = true,
		.result_size = sizeof(struct pinning_outcome),
		.workers = PINNING_WORKERS,
		.work = pinning_work,
		.gathers = pinning_gathers,
		.work_together = pinning_work_together,
		.report = report,
		.folder_done = folder_done,
		.breathe = breathe,
		.argument = pass,
	};
	int result;

	if (!pass)
		return -1;
	*pass = (struct pinning_pass){ .keeper = keeper,
		.select = *keeper->select,
		.fresh = owner != NULL };
	pass->select.count_links = true;
	pass->select.files_from = list;
	pass->owner = owner ? *owner : 0;
	each.select = &pass->select;
	result = each_run(&each, operands, count);
	if (result > 0) {
		keeper->hung = true; /* what the thread uses stays */
		return 0;
	}
	free(pass);
	links_free(&keeper->seen);
	return result;
}

int
pinning_all(struct keeper *keeper)
{
	return run(keeper, keeper->operands, keeper->count, keeper->select->files_from, NULL);
}

int
pinning_folder(struct keeper *keeper, const char *path, uint32_t owner)
{
	return run(keeper, (char *[]){ (char *)path }, 1, NULL, &owner);
}
