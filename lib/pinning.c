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
#include "residency.h"
#include "stop.h"

#define WORKERS 8 /* more than processors: they wait for the disk */

struct pass {
	struct keeper *keeper;
	struct select select;
	bool fresh;     /* a folder that nobody has surveyed */
	uint32_t owner; /* of all that is found there */
};

/* What a worker leaves. */
struct outcome {
	bool worked, over, shared; /* over: more than allowed by now; shared: a hard link's */
	enum pin_failure failure;
	int error;
	struct preload loaded;
	struct share_place place;
};

static uint64_t
start_of(const struct each_file *file)
{
	uint64_t page = residency_page_size();

	return file->offset / page * page;
}

static uint64_t
whole_pages(const struct each_file *file)
{
	return residency_pages(file->offset, file->length) * residency_page_size();
}

/* Whether FILE shall be pinned here and now: what it takes is taken then. */
static bool
claim(struct keeper *keeper, const struct each_file *file, struct outcome *outcome)
{
	const struct stat *status = &file->status;
	const struct select *select = keeper->select;
	uint64_t bytes = whole_pages(file);

	pthread_mutex_lock(&keeper->lock);
	if (!select->count_links && (status->st_nlink > 1 || select->follow))
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
			items[n] = (struct share_item){ .fd = files[i]->fd,
				.start = start_of(files[i]),
				.length = whole_pages(files[i]),
				.end = files[i]->offset + files[i]->length };
			claimed[n++] = files[i];
		}
	}
	if (n)
		shares_add(&keeper->shares, items, n);
	for (size_t i = 0; i < n; i++) {
		struct outcome *outcome = claimed[i]->result;

		outcome->place = items[i].place;
		outcome->failure = items[i].failure;
		outcome->error = items[i].error;
		if (items[i].failure != PIN_DONE)
			unclaim(keeper, items[i].length);
	}
}

static const struct preload_hooks hooks;

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct pass *pass = argument;
	struct outcome *outcome = file->result;

	if (holes_sum(file->fd, file->offset, file->length) > 0)
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
	return bundle_takes(file->fd, &file->status, file->offset, file->length) &&
	    holes_sum(file->fd, file->offset, file->length) == 0;
}

_Static_assert(SHARE_TOGETHER >= EACH_TOGETHER, "what is loaded together is pinned together");

/* In a worker. */
static void
work_together(struct each_file *const *files, size_t count, void *argument)
{
	struct pass *pass = argument;
	struct bundle_file bundle[EACH_TOGETHER];

	for (size_t i = 0; i < count; i++) {
		struct outcome *outcome = files[i]->result;

		bundle[i] = (struct bundle_file){ files[i]->fd, &files[i]->status,
			&outcome->loaded };
	}
	bundle_load(bundle, count, &hooks);
	pin(pass->keeper, files, count);
}

static const char *
why_not(enum pin_failure failure, int error)
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
pinning_complain(struct keeper *keeper, const char *path, enum pin_failure failure, int error)
{
	keeper->partial = true;
	if (failure != PIN_MAPS || !keeper->maps_told)
		keeper->complain(path, why_not(failure, error));
	keeper->maps_told |= failure == PIN_MAPS;
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
pinning_attach(struct keeper *keeper, uint32_t number, struct share_place place, uint64_t length)
{
	struct roster_file *file = &keeper->roster.files[number];

	if (place.share == UINT32_MAX)
		return;
	if (shares_tag(&keeper->shares, place, number) < 0) {
		shares_drop(&keeper->shares, place);
		keeper->taken -= length;
		ledger_fail(&keeper->ledger, &keeper->roster, number, true);
		return;
	}
	file->place = place;
	file->held = length;
	ledger_set(&keeper->ledger, &keeper->roster, number, length, LEDGER_LOST);
}

void
pinning_detach(struct keeper *keeper, uint32_t number)
{
	struct roster_file *file = &keeper->roster.files[number];

	if (file->place.share != UINT32_MAX)
		shares_drop(&keeper->shares, file->place);
	keeper->taken -= file->held;
	file->place = SHARE_NOWHERE;
	file->held = 0;
	ledger_set(&keeper->ledger, &keeper->roster, number, 0, LEDGER_RELEASED);
}

/* What a file is called; ROSTER_NONE where it is there already, by this or another name, which
 * gets the mapping if it has none. */
static uint32_t
enroll(struct keeper *keeper, const struct each_file *file, uint32_t owner)
{
	const struct outcome *outcome = file->result;
	struct roster *roster = &keeper->roster;
	uint32_t folder, number, other = ROSTER_NONE;
	struct roster_file *added;
	const char *name;
	size_t length;

	name = roster_split(file->path, &length);
	folder = lookout_folder(keeper, file->path, length);
	if (folder == ROSTER_NONE)
		return ROSTER_NONE;
	if (!keeper->select->count_links)
		other = roster_inode(roster, file->status.st_dev, file->status.st_ino);
	if (other == ROSTER_NONE)
		other = roster_find(roster, folder, name);
	if (other != ROSTER_NONE) {
		added = &roster->files[other];
		if (added->place.share == UINT32_MAX && outcome->place.share != UINT32_MAX &&
		    added->inode == file->status.st_ino)
			pinning_attach(keeper, other, outcome->place, whole_pages(file));
		else if (outcome->place.share != UINT32_MAX) {
			shares_drop(&keeper->shares, outcome->place);
			keeper->taken -= whole_pages(file);
		}
		return ROSTER_NONE;
	}
	number = roster_add(roster, folder, name, file->status.st_dev, file->status.st_ino);
	if (number == ROSTER_NONE)
		return number;
	added = &roster->files[number];
	added->owner = owner;
	added->named = file->depth == 0;
	added->size = (uint64_t)file->status.st_size;
	added->changed = lookout_time(&file->status.st_ctim);
	added->look = pinning_looks(keeper, folder, file->path, added->named,
	    file->status.st_nlink);
	keeper->holds[owner].files++;
	ledger_ask(&keeper->ledger, roster, number, whole_pages(file));
	if (added->named)
		roster->folders[folder].root = true;
	return number;
}

static void
report(const struct each_file *file, void *argument)
{
	struct pass *pass = argument;
	struct keeper *keeper = pass->keeper;
	const struct outcome *outcome = file->result;
	uint32_t owner = pass->fresh ? pass->owner : (uint32_t)file->operand, number;

	if (file->error) {
		keeper->partial = true;
		if (pass->fresh) { /* else the survey said why */
			keeper->holds[owner].failed++;
			keeper->complain(file->path, each_error(file));
		}
		return;
	}
	number = enroll(keeper, file, owner);
	if (number == ROSTER_NONE)
		return;
	if (outcome->worked && outcome->failure == PIN_DONE && !outcome->over) {
		pinning_attach(keeper, number, outcome->place, whole_pages(file));
		return;
	}
	keeper->partial = true;
	if (!outcome->worked && !pass->fresh) { /* holes: the survey counted it */
		keeper->roster.files[number].failed = true;
		return;
	}
	ledger_fail(&keeper->ledger, &keeper->roster, number, true);
	if (!outcome->worked)
		keeper->complain(file->path, HOLES_WHY);
	else if (outcome->over)
		keeper->complain(file->path,
		    pass->fresh
			? "not pinned: more than is allowed"
			: "not pinned: files have grown meanwhile, and more is not allowed");
	else
		pinning_complain(keeper, file->path, outcome->failure, outcome->error);
}

/* A name that had to wait for another one, which then failed. */
static void
see_to_rest(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->roster.file_count; i++) {
		const struct roster_file *file = &keeper->roster.files[i];

		if (file->name && file->length > 0 && file->held == 0 && !file->failed)
			lookout_changed(keeper, file->folder, file->name);
	}
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct pass *pass = argument;

	(void)operand;
	(void)depth;
	if (pass->fresh)
		lookout_new_folder(pass->keeper, path, pass->owner);
}

static bool
breathe(void *argument)
{
	struct pass *pass = argument;

	return keeper_breathe(pass->keeper);
}

/* Each name of a file is reported: which of them comes first decides whose it is. */
static int
run(struct keeper *keeper, char **operands, size_t count, const char *list, const uint32_t *owner)
{
	struct pass *pass = calloc(1, sizeof *pass);
	struct each each = {
		.by_place = true,
		.result_size = sizeof(struct outcome),
		.workers = WORKERS,
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
	if (result > 0)
		return 1; /* a thread that hangs may come back to it */
	free(pass);
	links_free(&keeper->seen);
	return result;
}

int
pinning_all(struct keeper *keeper)
{
	int result = run(keeper, keeper->operands, keeper->count, keeper->select->files_from, NULL);

	if (result == 0 && !stop_asked())
		see_to_rest(keeper);
	return result;
}

int
pinning_folder(struct keeper *keeper, const char *path, uint32_t owner)
{
	int result = run(keeper, (char *[]){ (char *)path }, 1, NULL, &owner);

	if (result == 0)
		see_to_rest(keeper);
	return result;
}
