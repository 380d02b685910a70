/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pinning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bundle.h"
#include "each.h"
#include "holes.h"
#include "lookout.h"
#include "preload.h"
#include "relief.h"
#include "residency.h"
#include "stop.h"

/* Until what has failed is tried again, in ns: twice as long each time. */
#define PAUSE_FIRST 1000000000ULL
#define PAUSE_MOST  64000000000ULL

struct pass {
	struct keeper *keeper;
	struct select select;
	bool fresh;     /* a folder that nobody has surveyed */
	uint32_t owner; /* of all that is found there */
};

/* What a worker leaves. */
struct outcome {
	bool worked;
	bool halted, over, shared; /* why it was not pinned: memory is tight; more than allowed; by
				    * another name it is, or will be */
	enum pin_failure failure;
	int error;
	struct preload loaded;
	struct share_place place;
	uint64_t locked; /* bytes */
};

/* Whether FILE shall be pinned here and now: what it takes is taken then. */
static bool
claim(struct keeper *keeper, const struct each_file *file, struct outcome *outcome)
{
	const struct stat *status = &file->status;
	const struct select *select = keeper->select;
	uint64_t bytes = pin_pages(-1, file->offset, file->length).length;

	outcome->halted = shares_halted(&keeper->shares);
	if (outcome->halted)
		return false;
	pthread_mutex_lock(&keeper->lock);
	if (!select->count_links)
		outcome->shared = links_add(&keeper->seen, status->st_dev, status->st_ino) == 0;
	/* files may have grown since they were looked at */
	outcome->over = !outcome->shared && bytes > keeper->allowed - keeper->taken;
	if (!outcome->shared && !outcome->over)
		keeper->taken += bytes;
	pthread_mutex_unlock(&keeper->lock);
	return !outcome->shared && !outcome->over;
}

static void
unclaim(struct keeper *keeper, uint64_t bytes)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->taken -= bytes;
	pthread_mutex_unlock(&keeper->lock);
}

/* In a worker: pins what has been loaded of COUNT files. */
static void
pin(struct keeper *keeper, struct each_file *const *files, size_t count)
{
	struct share_item items[SHARE_TOGETHER];
	struct each_file *claimed[SHARE_TOGETHER];
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct outcome *outcome = files[i]->result;

		outcome->worked = true;
		outcome->place = SHARE_NOWHERE;
		outcome->error = outcome->loaded.error;
		if (outcome->error) /* mlock would read it again, and again */
			outcome->failure = PIN_ERROR;
		else if (files[i]->length > 0 && claim(keeper, files[i], outcome)) {
			items[n].what = pin_pages(files[i]->fd, files[i]->offset, files[i]->length);
			items[n].locked = items[n].what.length;
			claimed[n++] = files[i];
		}
	}
	if (n)
		shares_add(&keeper->shares, items, n);
	for (size_t i = 0; i < n; i++) {
		struct outcome *outcome = claimed[i]->result;

		outcome->place = items[i].place;
		outcome->locked = items[i].locked;
		outcome->failure = items[i].failure;
		outcome->error = items[i].error;
		outcome->halted = items[i].failure == PIN_DONE &&
		    items[i].locked < items[i].what.length;
		unclaim(keeper, items[i].what.length - items[i].locked);
	}
}

/* While memory is tight, what is not pinned is not loaded either: it would be gone before. */
static bool
may_load(struct keeper *keeper, struct outcome *outcome)
{
	outcome->halted = shares_halted(&keeper->shares);
	outcome->worked |= outcome->halted;
	outcome->place = SHARE_NOWHERE;
	return !outcome->halted;
}

static const struct preload_hooks hooks;

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct pass *pass = argument;
	struct outcome *outcome = file->result;

	if (holes_any(file->fd, &file->status, file->offset, file->length))
		return;
	if (!may_load(pass->keeper, outcome))
		return;
	preload_range(file->fd, &file->status, file->offset, file->length, &hooks,
	    &outcome->loaded);
	pin(pass->keeper, &file, 1);
}

/* In a worker. */
static bool
gathers(const struct each_file *file, void *argument)
{
	(void)argument;
	return file->length <= BUNDLE_SMALL &&
	    bundle_takes(file->fd, &file->status, file->offset, file->length) &&
	    !holes_any(file->fd, &file->status, file->offset, file->length);
}

_Static_assert(SHARE_TOGETHER >= EACH_TOGETHER, "what is loaded together is pinned together");

/* In a worker. What could not be read mlock would try to read for ever. */
static void
work_together(struct each_file *const *files, size_t count, void *argument)
{
	struct pass *pass = argument;
	struct bundle_file bundle[EACH_TOGETHER];
	bool halted = false;

	for (size_t i = 0; i < count; i++)
		halted |= !may_load(pass->keeper, files[i]->result);
	if (halted) {
		for (size_t i = 0; i < count; i++) {
			struct outcome *outcome = files[i]->result;

			outcome->worked = outcome->halted = true;
		}
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct outcome *outcome = files[i]->result;

		bundle[i] = (struct bundle_file){ files[i]->fd, &files[i]->status,
			&outcome->loaded };
	}
	bundle_read(bundle, count);
	pin(pass->keeper, files, count);
}

const char *
pinning_why(enum pin_failure failure, int error)
{
	switch (failure) {
	case PIN_DONE:
		return NULL;
	case PIN_MAPS:
		return "not pinned, nor are others: too many files for the processes that could be "
		       "started, raise vm.max_map_count (sysctl)";
	case PIN_SPACE:
		return "not pinned: more than the address space that one process may have, raise "
		       "that limit (ulimit -v, or LimitAS= of a systemd unit)";
	case PIN_LIMIT:
		return "not pinned: more than may be locked (RLIMIT_MEMLOCK), raise that limit "
		       "(ulimit -l, or LimitMEMLOCK= of a systemd unit)";
	case PIN_SHRANK:
		return "not pinned: it shrank meanwhile";
	case PIN_STOPPED:
		return "not pinned: stopped before";
	case PIN_WORKER:
		return "not pinned: the process that was to hold it has died";
	case PIN_ERROR:
		break;
	}
	return each_error(&(struct each_file){ .error = error, .path = "" });
}

void
pinning_fail(struct keeper *keeper, uint32_t number, const char *path, const char *why)
{
	struct roster_file *file = &keeper->roster.files[number];
	bool maps = why == pinning_why(PIN_MAPS, 0);

	ledger_fail(&keeper->ledger, &keeper->roster, number, true);
	if (!file->said && !(maps && keeper->maps_told))
		keeper->complain(path, why);
	file->said = true;
	keeper->maps_told |= maps;
	file->pause = !file->pause         ? PAUSE_FIRST
	    : file->pause < PAUSE_MOST / 2 ? 2 * file->pause
					   : PAUSE_MOST;
	file->retry = stop_now() + file->pause;
	keeper->wanting = true;
	if (keeper->fill > file->retry)
		keeper->fill = file->retry;
}

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

void
pinning_attach(struct keeper *keeper, uint32_t number, struct share_place place, uint64_t held)
{
	struct roster_file *file = &keeper->roster.files[number];

	if (place.share == UINT32_MAX)
		return;
	if (shares_tag(&keeper->shares, place, number) < 0) {
		shares_drop(&keeper->shares, place);
		keeper_give(keeper, held);
		keeper->wanting = true;
		return;
	}
	file->place = place;
	file->held = held;
	ledger_set(&keeper->ledger, &keeper->roster, number, held, LEDGER_LOST);
}

void
pinning_detach(struct keeper *keeper, uint32_t number)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t seen, first;

	if (file->place.share != UINT32_MAX) {
		seen = shares_look(&keeper->shares, file->place, &first);
		if (seen < file->pinned)
			ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
		shares_drop(&keeper->shares, file->place);
		keeper_give(keeper, file->held);
	}
	file->place = SHARE_NOWHERE;
	file->held = 0;
	ledger_set(&keeper->ledger, &keeper->roster, number, 0, LEDGER_RELEASED);
}

void
pinning_shrink(struct keeper *keeper, uint32_t number, uint64_t length)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t now = length, seen;

	if (length >= file->held)
		return;
	if (length == 0 || shares_resize(&keeper->shares, file->place, &now, &seen) != PIN_DONE) {
		pinning_detach(keeper, number);
		return;
	}
	keeper_give(keeper, file->held - now);
	file->held = now;
	if (seen < file->pinned)
		ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_RELEASED);
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
	const struct outcome *outcome = file->result;

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
	const struct outcome *outcome = file->result;
	const struct roster_file *known = &keeper->roster.files[number];

	if (!outcome->worked || outcome->place.share == UINT32_MAX)
		return;
	if (known->place.share == UINT32_MAX && known->inode == file->status.st_ino &&
	    known->device == file->status.st_dev) {
		pinning_attach(keeper, number, outcome->place, outcome->locked);
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
		pinning_fail(keeper, number, file->path, each_error(file));
		return;
	}
	keeper->holds[owner].failed++;
	keeper->complain(file->path, each_error(file));
}

/* Why a file that could be opened is not pinned; NULL: it waits for its turn. */
static const char *
why_not(const struct pass *pass, const struct outcome *outcome)
{
	if (!outcome->worked)
		return HOLES_WHY;
	if (outcome->over)
		return pass->fresh
		    ? PINNING_CROWDED
		    : "not pinned: files have grown meanwhile, and more is not allowed";
	if (outcome->failure == PIN_DONE || outcome->failure == PIN_MAPS)
		return NULL; /* there may be one more process for it */
	return pinning_why(outcome->failure, outcome->error);
}

static void
report(const struct each_file *file, void *argument)
{
	struct pass *pass = argument;
	struct keeper *keeper = pass->keeper;
	const struct outcome *outcome = file->result;
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
		pinning_attach(keeper, number, outcome->place, outcome->locked);
	why = why_not(pass, outcome);
	if (why) {
		keeper->roster.files[number].crowded = outcome->over;
		pinning_fail(keeper, number, file->path, why);
	} else if (keeper->roster.files[number].held < keeper->roster.files[number].length)
		keeper->wanting = true;
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct pass *pass = argument;
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
	struct pass *pass = argument;

	return keeper_attend(pass->keeper);
}

/* Each name of a file is reported: which of them comes first decides whose it is. */
static int
run(struct keeper *keeper, char **operands, size_t count, const char *list, const uint32_t *owner)
{
	struct pass *pass = calloc(1, sizeof *pass);
	struct each each = {
		.by_place = true,
		.result_size = sizeof(struct outcome),
		.workers = PINNING_WORKERS,
		.work = work,
		.gathers = gathers,
		.work_together = work_together,
		.report = report,
		.folder_done = folder_done,
		.breathe = breathe,
		.argument = pass,
	};
	int result;

	if (!pass)
		return -1;
	*pass = (struct pass){ .keeper = keeper,
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
