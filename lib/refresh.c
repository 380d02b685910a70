/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "refresh.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "each.h"
#include "holes.h"
#include "lookout.h"
#include "pinning.h"
#include "preload.h"
#include "residency.h"

/* A file that has been opened again. */
struct again {
	const char *path;
	int fd;
	struct stat status;
	uint64_t offset, end; /* the selected range, bytes */
};

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
start_of(const struct again *again)
{
	uint64_t page = residency_page_size();

	return again->offset / page * page;
}

static uint64_t
whole_pages(const struct again *again)
{
	return residency_pages(again->offset, again->end - again->offset) * residency_page_size();
}

/* Whether there is a file, and it is one that is selected. NAMED by the user: then a link or a
 * block device will do. */
static bool
measure_size(const struct keeper *keeper, struct again *again, bool named)
{
	const struct num_range *range = &keeper->select->range;
	uint64_t capacity, size;

	if (S_ISBLK(again->status.st_mode) && named &&
	    ioctl(again->fd, BLKGETSIZE64, &capacity) == 0)
		again->status.st_size = (off_t)capacity;
	else if (!S_ISREG(again->status.st_mode))
		return false;
	size = (uint64_t)again->status.st_size;
	again->offset = least(range->offset, size);
	again->end = again->offset + least(range->length, size - again->offset);
	return size <= keeper->select->max_file_size;
}

/* 1 where it is there, 0 where nothing is that can be pinned, -1 with errno where that cannot be
 * told. */
static int
open_again(const struct keeper *keeper, struct again *again, bool named)
{
	int follow = named || keeper->select->follow ? 0 : O_NOFOLLOW;
	struct stat status;

	/* before it is opened, which can do things to a device */
	if (stat(again->path, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	if (!S_ISREG(status.st_mode) && !(S_ISBLK(status.st_mode) && named))
		return 0;
	again->fd = open(again->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
	if (again->fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? 0
											       : -1;
	if (fstat(again->fd, &again->status) == 0 && measure_size(keeper, again, named))
		return 1;
	close(again->fd);
	again->fd = -1;
	return 0;
}

/* The name stands for nothing: one that the user gave may come back. */
static void
forget(struct keeper *keeper, uint32_t number)
{
	struct roster_file *file = &keeper->roster.files[number];
	bool linked = file->look;

	pinning_detach(keeper, number);
	ledger_ask(&keeper->ledger, &keeper->roster, number, 0);
	if (file->named) {
		ledger_fail(&keeper->ledger, &keeper->roster, number, true);
		roster_replace(&keeper->roster, number, 0, 0);
		file->look = true;
		return;
	}
	ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	keeper->holds[file->owner].files--;
	roster_remove(&keeper->roster, number);
	if (linked && keeper->roster.folders[file->folder].watch >= 0)
		lookout_all(keeper); /* another name of it may be among what is asked for */
}

static void
fail(struct keeper *keeper, uint32_t number, const struct again *again, enum pin_failure failure,
    int error)
{
	const struct roster_file *file = &keeper->roster.files[number];

	if (failure == PIN_SHRANK || failure == PIN_WORKER || failure == PIN_STOPPED) {
		lookout_changed(keeper, file->folder, file->name); /* once more */
		return;
	}
	if (!file->failed)
		pinning_complain(keeper, again->path, failure, error);
	ledger_fail(&keeper->ledger, &keeper->roster, number, true);
}

static void
pin_anew(struct keeper *keeper, uint32_t number, const struct again *again, uint64_t length)
{
	struct share_item item = { .fd = again->fd,
		.start = start_of(again),
		.length = length,
		.end = least(start_of(again) + length, again->end) };

	shares_add(&keeper->shares, &item, 1);
	if (item.failure == PIN_MAPS && shares_grow(&keeper->shares) == 0)
		shares_add(&keeper->shares, &item, 1);
	if (item.failure != PIN_DONE) {
		fail(keeper, number, again, item.failure, item.error);
		return;
	}
	keeper->taken += length;
	ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	pinning_attach(keeper, number, item.place, length);
}

static void
fit(struct keeper *keeper, uint32_t number, const struct again *again, uint64_t length)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t seen;
	enum pin_failure failure = shares_fit(&keeper->shares, file->place, length, &seen);
	int error = errno;

	/* what was lost since it was looked at, and is pinned again by now */
	if (seen < file->pinned)
		ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
	if (failure != PIN_DONE) {
		fail(keeper, number, again, failure, error);
		return;
	}
	keeper->taken += length - file->held;
	file->held = length;
	ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	ledger_set(&keeper->ledger, &keeper->roster, number, length, LEDGER_LOST);
}

/* Holds LENGTH bytes of a file, no more than it has; what is missing of them is read before. */
static void
hold(struct keeper *keeper, uint32_t number, const struct again *again, uint64_t length)
{
	static const struct preload_hooks hooks;
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t end = least(start_of(again) + length, again->end);
	struct preload loaded;

	if (length == 0) {
		pinning_detach(keeper, number);
		return;
	}
	if (length > file->held && length - file->held > keeper->allowed - keeper->taken) {
		if (!file->failed)
			keeper->complain(again->path, "not pinned: more than is allowed");
		keeper->partial = true;
		ledger_fail(&keeper->ledger, &keeper->roster, number, true);
		return;
	}
	if (holes_sum(again->fd, again->offset, end - again->offset) > 0) {
		if (!file->failed)
			keeper->complain(again->path, HOLES_WHY);
		keeper->partial = true;
		ledger_fail(&keeper->ledger, &keeper->roster, number, true);
		pinning_detach(keeper, number);
		return;
	}
	preload_range(again->fd, &again->status, again->offset, end - again->offset, &hooks,
	    &loaded);
	if (loaded.error)
		fail(keeper, number, again, PIN_ERROR, loaded.error);
	else if (file->place.share == UINT32_MAX)
		pin_anew(keeper, number, again, length);
	else
		fit(keeper, number, again, length);
}

/* What was seen of it last. */
static void
note(struct keeper *keeper, uint32_t number, const struct again *again)
{
	struct roster_file *file = &keeper->roster.files[number];

	file->size = (uint64_t)again->status.st_size;
	file->changed = lookout_time(&again->status.st_ctim);
	file->look = pinning_looks(keeper, file->folder, again->path, file->named,
	    again->status.st_nlink);
	ledger_ask(&keeper->ledger, &keeper->roster, number, whole_pages(again));
}

/* How much of a file may be held now: while others need memory, no more than is. */
static uint64_t
may_hold(struct keeper *keeper, const struct roster_file *file)
{
	if (!keeper->withheld && !keeper->valve.tight)
		return file->length;
	if (file->held < file->length)
		keeper->withheld = true;
	return least(file->held, file->length);
}

static void
refresh_known(struct keeper *keeper, uint32_t number, const struct again *again)
{
	struct roster_file *file = &keeper->roster.files[number];

	if (file->device != again->status.st_dev || file->inode != again->status.st_ino) {
		pinning_detach(keeper, number);
		roster_replace(&keeper->roster, number, again->status.st_dev, again->status.st_ino);
		ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	}
	note(keeper, number, again);
	hold(keeper, number, again, may_hold(keeper, file));
}

/* Whether another name stands for the same file still: then that is pinned. */
static bool
is_elsewhere(struct keeper *keeper, const struct again *again)
{
	uint32_t other = roster_inode(&keeper->roster, again->status.st_dev, again->status.st_ino);
	struct stat status;
	bool there;
	char *path;

	if (other == ROSTER_NONE || keeper->select->count_links)
		return false;
	path = roster_path(&keeper->roster, other);
	there = path && stat(path, &status) == 0 && status.st_dev == again->status.st_dev &&
	    status.st_ino == again->status.st_ino;
	free(path);
	if (!there) /* renamed: what is told of the old name comes later, if at all */
		forget(keeper, other);
	return there;
}

static void
refresh_new(struct keeper *keeper, uint32_t folder, const char *name, const struct again *again)
{
	uint32_t number, owner = keeper->roster.folders[folder].owner;

	if (owner == ROSTER_NONE || !select_admits(keeper->select, again->path, name) ||
	    is_elsewhere(keeper, again))
		return;
	number = roster_add(&keeper->roster, folder, name, again->status.st_dev,
	    again->status.st_ino);
	if (number == ROSTER_NONE) {
		lookout_all(keeper); /* when there is memory */
		return;
	}
	keeper->roster.files[number].owner = owner;
	keeper->holds[owner].files++;
	note(keeper, number, again);
	hold(keeper, number, again, may_hold(keeper, &keeper->roster.files[number]));
}

/* A folder that is new, with all that is in it. */
static void
refresh_folder(struct keeper *keeper, uint32_t parent, const char *path, const char *name)
{
	uint32_t owner = keeper->roster.folders[parent].owner;
	struct stat status;

	if (owner == ROSTER_NONE || select_prunes(keeper->select, path, name) ||
	    (keeper->select->follow ? stat : lstat)(path, &status) < 0 ||
	    !S_ISDIR(status.st_mode) ||
	    roster_folder(&keeper->roster, path, strlen(path), false) != ROSTER_NONE)
		return;
	if (pinning_folder(keeper, path, owner) < 0)
		lookout_all(keeper); /* when there is memory */
}

void
refresh_name(struct keeper *keeper, uint32_t folder, const char *name)
{
	uint32_t number = roster_find(&keeper->roster, folder, name);
	char *path = roster_join(&keeper->roster, folder, name);
	struct again again = { .path = path, .fd = -1 };
	int opened;

	if (!path)
		return;
	opened = open_again(keeper, &again,
	    number != ROSTER_NONE && keeper->roster.files[number].named);
	if (opened > 0 && number != ROSTER_NONE)
		refresh_known(keeper, number, &again);
	else if (opened > 0)
		refresh_new(keeper, folder, name, &again);
	else if (number != ROSTER_NONE && opened == 0)
		forget(keeper, number);
	else if (number != ROSTER_NONE)
		fail(keeper, number, &again, PIN_ERROR, errno);
	if (opened == 0)
		refresh_folder(keeper, folder, path, name);
	if (again.fd >= 0)
		close(again.fd);
	free(path);
}

/* --- what others need */

/* Holds less of a file by up to BYTES; returns by how much. */
static uint64_t
let_go(struct keeper *keeper, uint32_t number, uint64_t bytes)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t page = residency_page_size(), held = file->held;
	uint64_t less = least((bytes + page - 1) / page * page, held), seen;

	if (less == held ||
	    shares_fit(&keeper->shares, file->place, held - less, &seen) != PIN_DONE) {
		pinning_detach(keeper, number);
		return held;
	}
	file->held -= less;
	keeper->taken -= less;
	if (file->pinned > file->held)
		ledger_set(&keeper->ledger, &keeper->roster, number, file->held, LEDGER_RELEASED);
	return less;
}

void
refresh_release(struct keeper *keeper, uint64_t bytes)
{
	for (size_t owner = keeper->holds_count; bytes > 0 && owner-- > 0;)
		for (uint32_t i = (uint32_t)keeper->roster.file_count;
		     bytes > 0 && keeper->holds[owner].pinned > 0 && i-- > 0;) {
			const struct roster_file *file = &keeper->roster.files[i];
			uint64_t less;

			if (!file->name || file->owner != owner || file->held == 0)
				continue;
			less = let_go(keeper, i, bytes);
			bytes -= least(less, bytes);
			keeper->withheld = true;
		}
}

/* Opens a file that is not held as a whole, and holds up to BYTES more of it. */
static uint64_t
hold_more(struct keeper *keeper, uint32_t number, uint64_t bytes)
{
	const struct roster_file *file = &keeper->roster.files[number];
	uint64_t page = residency_page_size(), before = file->held;
	struct again again = { .path = roster_path(&keeper->roster, number), .fd = -1 };

	if (again.path && open_again(keeper, &again, file->named) > 0 &&
	    again.status.st_dev == file->device && again.status.st_ino == file->inode &&
	    whole_pages(&again) == file->length)
		hold(keeper, number, &again,
		    least(file->length, file->held + (bytes + page - 1) / page * page));
	else
		lookout_changed(keeper, file->folder, file->name);
	if (again.fd >= 0)
		close(again.fd);
	free((char *)again.path);
	file = &keeper->roster.files[number];
	return file->held > before ? file->held - before : 0;
}

bool
refresh_repin(struct keeper *keeper, uint64_t bytes)
{
	bool left = false;

	for (size_t owner = 0; owner < keeper->holds_count; owner++)
		for (uint32_t i = 0; i < keeper->roster.file_count; i++) {
			const struct roster_file *file = &keeper->roster.files[i];

			if (!file->name || file->owner != owner || file->failed || file->dirty ||
			    file->held >= file->length)
				continue;
			left = true;
			if (bytes == 0)
				return true;
			bytes -= least(hold_more(keeper, i, bytes), bytes);
		}
	return left;
}
