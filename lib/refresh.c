/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "refresh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "grip.h"
#include "holes.h"
#include "lookout.h"
#include "num.h"
#include "pinning.h"
#include "reopen.h"
#include "residency.h"
#include "stop.h"

#define LARGE (64ULL << 20) /* bytes, of which it takes a while to see whether all are there */

static void
fail(struct keeper *keeper, uint32_t number, const struct reopen *again, enum pin_failure failure,
    int error)
{
	struct roster_file *file = &keeper->roster.files[number];
	struct stat now;

	/* which the kernel calls lack of memory */
	if (failure == PIN_ERROR && error == ENOMEM && again->fd >= 0 &&
	    fstat(again->fd, &now) == 0 && now.st_size < again->status.st_size)
		failure = PIN_SHRANK;
	if (failure == PIN_STOPPED)
		return;
	if (failure == PIN_SHRANK)
		lookout_changed(keeper, file->folder, file->name); /* once more */
	else if (failure == PIN_WORKER)
		keeper->wanting = true; /* as soon as there is another */
	else
		grip_fail(keeper, number, again->path, grip_why(failure, error));
}

/* Reads bytes FROM up to TO; false where that failed, or a thread hangs. */
static bool
load(struct keeper *keeper, uint32_t number, struct reopen *again, uint64_t from, uint64_t to)
{
	if (!reopen_load(keeper, again, from, to))
		return false;
	if (again->holes) {
		grip_fail(keeper, number, again->path, HOLES_WHY);
		grip_detach(keeper, number);
	} else if (again->loaded.error)
		fail(keeper, number, again, PIN_ERROR, again->loaded.error);
	return !again->holes && !again->loaded.error;
}

/* In a mapping of its own, of which LENGTH bytes are locked at first. */
static void
pin_anew(struct keeper *keeper, uint32_t number, const struct reopen *again, uint64_t length)
{
	struct share_item item = { .what = reopen_what(again), .locked = length };

	shares_add(&keeper->shares, &item, 1);
	if (item.failure == PIN_MAPS && shares_grow(&keeper->shares) == 0) {
		item.locked = length;
		shares_add(&keeper->shares, &item, 1);
	}
	if (item.failure != PIN_DONE) {
		fail(keeper, number, again, item.failure, item.error);
		return;
	}
	keeper_give(keeper, -item.locked);
	grip_attach(keeper, number, item.place, item.locked);
}

static void
grow(struct keeper *keeper, uint32_t number, const struct reopen *again, uint64_t length)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t seen;
	enum pin_failure failure = shares_resize(&keeper->shares, file->place, &length, &seen);
	int error = errno;

	if (length != PIN_UNKNOWN) {
		keeper_give(keeper, file->held - length);
		file->held = length;
		ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
	}
	if (failure != PIN_DONE)
		fail(keeper, number, again, failure, error);
}

/* Holds up to BYTES more of a file that is open, if that is allowed. */
static void
hold_more(struct keeper *keeper, uint32_t number, struct reopen *again, uint64_t bytes)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t page = residency_page_size(), want;

	want = num_least(file->length, file->held + (bytes + page - 1) / page * page);
	if (file->length - file->held > keeper->allowed - keeper->taken) {
		file->crowded = true;
		grip_fail(keeper, number, again->path, GRIP_CROWDED);
		return;
	}
	if (!load(keeper, number, again, file->held, want))
		return;
	/* some may have been given back meanwhile */
	if (shares_halted(&keeper->shares) || want <= file->held) {
		keeper->wanting = true;
		return;
	}
	if (file->place.share == UINT32_MAX)
		pin_anew(keeper, number, again, want);
	else
		grow(keeper, number, again, want);
	if (file->held == want)
		ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	if (file->held < file->length)
		keeper->wanting = true;
}

/* Looks how much of what is held is there, and where what is not begins; false where the kernel
 * does not tell. */
static bool
inspect(struct keeper *keeper, uint32_t number, uint64_t *first)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t start = shares_spent(&keeper->shares), now = stop_now(), seen;

	*first = 0;
	/* what is written to all the time must not be measured all the time */
	if (file->held > LARGE && now < keeper->inspect && file->pinned == file->held) {
		keeper->checked = num_least(keeper->checked, keeper->inspect);
		*first = file->held;
		return true;
	}
	seen = shares_look(&keeper->shares, file->place, first);
	if (file->held > LARGE)
		keeper->inspect = now + (shares_spent(&keeper->shares) - start) * LOOKOUT_SHARE;
	if (seen == PIN_UNKNOWN) {
		*first = 0; /* all may have gone */
		return false;
	}
	ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
	return true;
}

/* What of it has gone is brought in again; where that is much, or memory is tight, only what is
 * before is held, and the rest pinned as if it were new. */
static void
restore(struct keeper *keeper, uint32_t number, struct reopen *again, uint64_t first, bool known)
{
	struct roster_file *file = &keeper->roster.files[number];
	enum pin_failure failure;

	if (shares_halted(&keeper->shares) || (known && file->held - first > REFRESH_STEP)) {
		grip_shrink(keeper, number, first);
		keeper->wanting = true;
		return;
	}
	if (!load(keeper, number, again, first, file->held) || first >= file->held)
		return;
	failure = shares_restore(&keeper->shares, file->place, first);
	if (failure != PIN_DONE)
		fail(keeper, number, again, failure, errno);
	else if (!shares_halted(&keeper->shares))
		ledger_set(&keeper->ledger, &keeper->roster, number, file->held, LEDGER_LOST);
}

/* What is held of a file that may have changed: no more than it has, and all of that there. */
static void
settle(struct keeper *keeper, uint32_t number, struct reopen *again)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t first;
	bool known;

	if (file->held == 0)
		return;
	known = inspect(keeper, number, &first);
	grip_shrink(keeper, number, file->length);
	if (first < file->held)
		restore(keeper, number, again, first, known);
}

/* Other names of what a name stood for: one of them shall be held now. */
static void
wake_aliases(struct keeper *keeper, uint64_t device, uint64_t inode)
{
	uint32_t number;
	size_t at = 0;

	while (inode && (number = roster_names(&keeper->roster, device, inode, &at)) != ROSTER_NONE)
		if (keeper->roster.files[number].alias)
			lookout_changed(keeper, keeper->roster.files[number].folder,
			    keeper->roster.files[number].name);
}

/* The name stands for nothing that can be pinned, of which STATUS tells: one that the user gave may
 * do so again. */
static void
forget(struct keeper *keeper, uint32_t number, const struct stat *status)
{
	struct roster_file *file = &keeper->roster.files[number];
	bool linked = file->look && keeper->roster.folders[file->folder].watch >= 0;
	uint64_t device = file->device, inode = file->inode;

	grip_detach(keeper, number);
	ledger_ask(&keeper->ledger, &keeper->roster, number, 0);
	ledger_fail(&keeper->ledger, &keeper->roster, number, false);
	file->alias = false;
	if (file->named) {
		/* a folder is looked after by itself */
		ledger_fail(&keeper->ledger, &keeper->roster, number, !S_ISDIR(status->st_mode));
		roster_replace(&keeper->roster, number, status->st_dev, status->st_ino);
		file->size = (uint64_t)status->st_size;
		file->changed = status->st_ino ? lookout_time(&status->st_ctim) : 0;
		file->look = true;
		file->retry = UINT64_MAX;
	} else {
		ledger_count(&keeper->ledger, &keeper->roster, number, false);
		roster_remove(&keeper->roster, number);
		if (linked)
			lookout_all(keeper); /* another name of it may be below what is asked for */
	}
	wake_aliases(keeper, device, inode);
}

/* What was seen of it last. */
static void
note(struct keeper *keeper, uint32_t number, const struct reopen *again)
{
	struct roster_file *file = &keeper->roster.files[number];

	file->size = (uint64_t)again->status.st_size;
	file->changed = lookout_time(&again->status.st_ctim);
	file->look = pinning_looks(keeper, file->folder, again->path, file->named,
	    again->status.st_nlink);
	ledger_ask(&keeper->ledger, &keeper->roster, number,
	    file->alias ? 0 : reopen_what(again).length);
}

/* Whether another name than NUMBER stands for the same file still: then that is pinned. */
static bool
is_elsewhere(struct keeper *keeper, uint32_t number, const struct reopen *again)
{
	uint32_t other = roster_inode(&keeper->roster, again->status.st_dev, again->status.st_ino);
	struct stat status;
	bool there;
	char *path;

	if (other == ROSTER_NONE || other == number || keeper->select->count_links)
		return false;
	path = roster_path(&keeper->roster, other);
	there = path && stat(path, &status) == 0 && status.st_dev == again->status.st_dev &&
	    status.st_ino == again->status.st_ino;
	free(path);
	if (!there) /* renamed: what is told of the old name comes later, if at all */
		forget(keeper, other, &(struct stat){ 0 });
	return there;
}

/* What is there of it is pinned now, as far as that is done in one go. */
static void
keep(struct keeper *keeper, uint32_t number, struct reopen *again)
{
	struct roster_file *file = &keeper->roster.files[number];

	ledger_count(&keeper->ledger, &keeper->roster, number, true);
	note(keeper, number, again);
	settle(keeper, number, again);
	if (keeper->hung || file->held >= file->length) {
		if (file->held == file->length && !keeper->hung && file->pinned == file->held)
			ledger_fail(&keeper->ledger, &keeper->roster, number, false);
		return;
	}
	keeper->wanting = true;
	if (!shares_halted(&keeper->shares))
		hold_more(keeper, number, again, REFRESH_STEP);
	else
		keeper->withheld = true;
}

/*
 * A file of a lower layer of overlayfs is copied to the upper one before it is first changed, and
 * is the same inode to stat(2) then; but a mapping keeps the pages of the lower one, which nobody
 * reads any more. The copy has a st_ctime of its own. Once the file has been written to (which sets
 * st_mtime to the same time; without that, metacopy=on copies no data), it is in the upper layer
 * for good.
 */
static bool
may_be_copy(struct roster_file *file, const struct reopen *again)
{
	const struct timespec *now = &again->status.st_ctim, *written = &again->status.st_mtim;

	if (!again->layered || file->upper || (file->changed && file->changed == lookout_time(now)))
		return false;
	file->upper = file->changed && now->tv_sec == written->tv_sec &&
	    now->tv_nsec == written->tv_nsec;
	return true;
}

static void
refresh_known(struct keeper *keeper, uint32_t number, struct reopen *again)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t device = file->device, inode = file->inode;
	bool changed = device != again->status.st_dev || inode != again->status.st_ino;

	if (changed || may_be_copy(file, again))
		grip_detach(keeper, number);
	if (changed) {
		file->upper = false;
		ledger_fail(&keeper->ledger, &keeper->roster, number, false);
		/* until it is known, it is not what others are looked up by */
		file->alias = true;
		roster_replace(&keeper->roster, number, again->status.st_dev, again->status.st_ino);
		wake_aliases(keeper, device, inode);
	}
	if (file->alias && is_elsewhere(keeper, number, again)) {
		ledger_count(&keeper->ledger, &keeper->roster, number, false);
		ledger_fail(&keeper->ledger, &keeper->roster, number, false);
		note(keeper, number, again);
		return;
	}
	file->alias = false;
	keep(keeper, number, again);
}

static void
refresh_new(struct keeper *keeper, uint32_t folder, const char *name, struct reopen *again)
{
	uint32_t number, owner = keeper->roster.folders[folder].owner;

	if (owner == ROSTER_NONE || !select_admits(keeper->select, again->path, name) ||
	    is_elsewhere(keeper, ROSTER_NONE, again))
		return;
	number = roster_add(&keeper->roster, folder, name, owner, again->status.st_dev,
	    again->status.st_ino);
	if (number == ROSTER_NONE)
		lookout_all(keeper); /* when there is memory */
	else
		keep(keeper, number, again);
}

/* Whether the folder that is at PATH now shall be walked. */
static bool
is_new_folder(struct keeper *keeper, uint32_t parent, const struct reopen *again, const char *name)
{
	const struct roster_folder *above = &keeper->roster.folders[parent];

	if (!S_ISDIR(again->status.st_mode) ||
	    roster_folder(&keeper->roster, again->path, strlen(again->path), false) != ROSTER_NONE)
		return false;
	if (again->named)
		return true;
	return above->owner != ROSTER_NONE && !select_prunes(keeper->select, again->path, name) &&
	    (!keeper->select->one_file_system || above->device == again->status.st_dev);
}

void
refresh_name(struct keeper *keeper, uint32_t folder, const char *name)
{
	uint32_t number = roster_find(&keeper->roster, folder, name), owner;
	bool known = number != ROSTER_NONE;
	struct reopen *again = reopen_begin(keeper, roster_join(&keeper->roster, folder, name),
	    known && keeper->roster.files[number].named);

	if (!again)
		return;
	owner = known ? keeper->roster.files[number].owner : keeper->roster.folders[folder].owner;
	if (again->opened > 0 && known)
		refresh_known(keeper, number, again);
	else if (again->opened > 0)
		refresh_new(keeper, folder, name, again);
	else if (known && again->opened == 0)
		forget(keeper, number, &again->status);
	else if (known)
		fail(keeper, number, again, PIN_ERROR, again->error);
	if (!keeper->hung && again->opened == 0 && is_new_folder(keeper, folder, again, name) &&
	    pinning_folder(keeper, again->path, owner) < 0)
		lookout_all(keeper); /* when there is memory */
	if (!keeper->hung)
		reopen_end(again);
}

uint64_t
refresh_more(struct keeper *keeper, uint32_t number, uint64_t bytes)
{
	const struct roster_file *file = &keeper->roster.files[number];
	struct reopen *again = reopen_begin(keeper, roster_path(&keeper->roster, number),
	    file->named);
	uint64_t before = file->held;

	if (!again)
		return 0;
	if (again->opened > 0 && again->status.st_dev == file->device &&
	    again->status.st_ino == file->inode && reopen_what(again).length == file->length)
		hold_more(keeper, number, again, bytes);
	else
		lookout_changed(keeper, file->folder, file->name);
	if (!keeper->hung)
		reopen_end(again);
	return file->held > before ? file->held - before : 0;
}
