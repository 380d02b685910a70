/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lookout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aside.h"
#include "device.h"
#include "stop.h"

#define PAUSE 100000000ULL /* ns: what happens meanwhile is heard together */
#define TICK  20000000ULL  /* ns: a file system's clock stands still for less */
#define ROUND 256          /* files of which nobody tells all: looked at in turn, at a time */
#define TRIES 16           /* watches that failed, tried again at a time */

uint64_t
lookout_after(uint64_t now, uint64_t took)
{
	return now + (took * LOOKOUT_SHARE > LOOKOUT_EVERY ? took * LOOKOUT_SHARE : LOOKOUT_EVERY);
}

static uint64_t
nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_nsec;
}

uint64_t
lookout_spent(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return nanoseconds(&spent);
}

uint64_t
lookout_time(const struct timespec *time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return nanoseconds(&now) - nanoseconds(time) < TICK ? 0 : nanoseconds(time);
}

/* Changes made by other machines are no events of this one. */
static bool
tells_all(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	bool tells = false;

	if (fd >= 0 && fstat(fd, &status) == 0)
		tells = device_of(fd, &status).kind != DEVICE_NETWORK;
	if (fd >= 0)
		close(fd);
	return tells;
}

static void
remember(struct roster_folder *folder, const struct stat *status)
{
	folder->device = status->st_dev;
	folder->inode = status->st_ino;
	folder->changed = lookout_time(&status->st_mtim);
}

static void
complain_once(struct keeper *keeper, const char *path, int error)
{
	bool *told = error == ENOSPC ? &keeper->full_told : &keeper->watch_told;

	if (!*told)
		keeper->complain(path,
		    error == ENOSPC ? "not watched, nor are others: it is looked at now and then, "
				      "raise fs.inotify.max_user_watches (sysctl)"
				    : "not watched: it is looked at now and then");
	*told = true;
}

static void
watch(struct keeper *keeper, uint32_t number)
{
	const char *path = keeper->roster.folders[number].path;
	bool mute = !tells_all(path);
	int watch = mute ? -1 : notice_watch(&keeper->notice, path);

	if (watch < 0 && (mute || (errno != ENOENT && errno != ENOTDIR)))
		complain_once(keeper, path, mute ? 0 : errno);
	keeper->roster.folders[number].mute = mute;
	roster_watch(&keeper->roster, number, watch);
}

/* The watch comes first: what changes after the look is told. */
static void
watch_new(struct keeper *keeper, uint32_t number)
{
	struct stat status;

	watch(keeper, number);
	if (stat(keeper->roster.folders[number].path, &status) == 0)
		remember(&keeper->roster.folders[number], &status);
}

static void
unwatch(struct keeper *keeper, uint32_t number)
{
	int watch = keeper->roster.folders[number].watch;
	size_t at = 0;

	roster_watch(&keeper->roster, number, -1);
	/* another path may lead to the same folder */
	if (watch >= 0 && roster_watched(&keeper->roster, watch, &at) == ROSTER_NONE)
		notice_unwatch(&keeper->notice, watch);
}

uint32_t
lookout_folder(struct keeper *keeper, const char *path, size_t length)
{
	uint32_t number = roster_folder(&keeper->roster, path, length, false);

	if (number != ROSTER_NONE)
		return number;
	number = roster_folder(&keeper->roster, path, length, true);
	if (number != ROSTER_NONE && !keeper->dry_run)
		watch_new(keeper, number);
	return number;
}

void
lookout_own(struct keeper *keeper, const char *path, uint32_t owner, bool root, bool last)
{
	uint32_t number = lookout_folder(keeper, path, strlen(path));
	struct roster_folder *folder;

	if (number == ROSTER_NONE)
		return;
	folder = &keeper->roster.folders[number];
	folder->root |= root;
	if (folder->owner != ROSTER_NONE)
		return;
	folder->owner = owner;
	if (!last)
		return;
	folder->stale = true;
	keeper->looked = 0;
}

void
lookout_all(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->roster.folder_count; i++)
		keeper->roster.folders[i].stale = true;
	keeper->looked = 0;
}

/* Whether a name that is new shall be opened, be it a file or a folder. */
static bool
is_wanted(const struct keeper *keeper, uint32_t number, const char *name)
{
	const struct roster_folder *folder = &keeper->roster.folders[number];
	char *path = folder->owner == ROSTER_NONE ? NULL
						  : roster_join(&keeper->roster, number, name);
	bool wanted = path &&
	    (select_admits(keeper->select, path, name) ||
		!select_prunes(keeper->select, path, name));

	free(path);
	return wanted;
}

void
lookout_changed(struct keeper *keeper, uint32_t folder, const char *name)
{
	if (roster_find(&keeper->roster, folder, name) == ROSTER_NONE &&
	    !is_wanted(keeper, folder, name))
		return;
	if (queue_add(&keeper->queue, &keeper->roster, folder, name))
		return;
	keeper->roster.folders[folder].stale = true; /* later */
	keeper->looked = 0;
}

/* What is at its path by now is another one, even if that has its number. */
static void
mark_gone(struct keeper *keeper, int watch_number)
{
	uint32_t number;
	size_t at = 0;

	keeper->looked = 0;
	while ((number = roster_watched(&keeper->roster, watch_number, &at)) != ROSTER_NONE) {
		keeper->roster.folders[number].inode = 0;
		keeper->roster.folders[number].stale = true;
	}
}

/* For notice_read. */
static void
happened(enum notice_what what, int watch_number, const char *name, void *argument)
{
	struct keeper *keeper = argument;
	uint32_t folder;
	size_t at = 0;

	keeper->heard = 0;
	if (what == NOTICE_LOST)
		lookout_all(keeper);
	else if (what == NOTICE_GONE)
		mark_gone(keeper, watch_number);
	else
		while ((folder = roster_watched(&keeper->roster, watch_number, &at)) != ROSTER_NONE)
			lookout_changed(keeper, folder, name);
}

/* Whether it is readable is of interest where nothing has been heard for a while only. */
static void
listen(struct keeper *keeper, bool on)
{
	struct epoll_event event = { .events = on ? EPOLLIN : 0 };

	if (keeper->notice.fd >= 0)
		epoll_ctl(keeper->news, EPOLL_CTL_MOD, keeper->notice.fd, &event);
}

static void
hear(struct keeper *keeper, uint64_t now)
{
	keeper->heard = UINT64_MAX;
	notice_read(&keeper->notice, happened, keeper);
	listen(keeper, keeper->heard == UINT64_MAX);
	if (keeper->heard != UINT64_MAX)
		keeper->heard = now + PAUSE;
}

/* Whether what readdir(3) found may be one: a folder has its own rules, and the rest none. */
static bool
may_be_wanted(const struct keeper *keeper, uint32_t number, const struct dirent *entry)
{
	const struct select *select = keeper->select;
	bool wanted = false;
	char *path;

	if (entry->d_type != DT_REG && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN &&
	    !(entry->d_type == DT_LNK && select->follow))
		return false;
	path = roster_join(&keeper->roster, number, entry->d_name);
	if (path && entry->d_type == DT_REG)
		wanted = select_admits(select, path, entry->d_name);
	else if (path)
		wanted = true;
	/* a folder that is known is not new */
	if (path && entry->d_type == DT_DIR)
		wanted = !select_prunes(select, path, entry->d_name) &&
		    roster_folder((struct roster *)&keeper->roster, path, strlen(path), false) ==
			ROSTER_NONE;
	free(path);
	return wanted;
}

/* Names that are new in a folder. */
static void
list_new(struct keeper *keeper, uint32_t number)
{
	DIR *folder = opendir(keeper->roster.folders[number].path);
	const struct dirent *entry;

	while (folder && !keeper->roster.folders[number].stale && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    roster_find(&keeper->roster, number, entry->d_name) == ROSTER_NONE &&
		    may_be_wanted(keeper, number, entry))
			lookout_changed(keeper, number, entry->d_name);
	if (folder)
		closedir(folder);
}

/* Whether another folder is at its path by now, or none, or, where nobody tells, other names
 * are in it. */
static void
look_at_folder(struct keeper *keeper, uint32_t number, int *tries)
{
	struct roster_folder *folder = &keeper->roster.folders[number];
	struct stat status = { 0 };
	bool there = stat(folder->path, &status) == 0 && S_ISDIR(status.st_mode);

	if (!there)
		status = (struct stat){ 0 };
	if (folder->device != status.st_dev || folder->inode != status.st_ino) {
		unwatch(keeper, number);
		remember(folder, &status);
		if (there)
			watch(keeper, number);
		folder->stale = true;
	} else if (there && folder->watch < 0 && !folder->mute && *tries > 0) {
		--*tries;
		watch(keeper, number);
		folder->stale |= folder->watch >= 0;
	}
	if (there && folder->watch < 0 && folder->changed != lookout_time(&status.st_mtim)) {
		remember(folder, &status);
		folder->stale = true;
	}
}

/* Whether it is the same file, of the same size, and not written to, where nobody tells. */
static bool
seems_same(struct keeper *keeper, uint32_t number)
{
	const struct roster_file *file = &keeper->roster.files[number];
	char *path = roster_path(&keeper->roster, number);
	struct stat status = { 0 };

	if (!path)
		return true; /* until there is memory */
	if (stat(path, &status) < 0)
		status = (struct stat){ 0 };
	free(path);
	return status.st_dev == file->device && status.st_ino == file->inode &&
	    (S_ISBLK(status.st_mode) ||
		((uint64_t)status.st_size == file->size &&
		    lookout_time(&status.st_ctim) == file->changed));
}

static bool
is_due(struct keeper *keeper, uint32_t number)
{
	const struct roster_file *file = &keeper->roster.files[number];

	if (!file->name || file->dirty)
		return false;
	/* one that has got another name since may be written to by that */
	return keeper->roster.folders[file->folder].stale ||
	    ((file->look || number - keeper->round < ROUND) && !seems_same(keeper, number));
}

/* A folder that has gone, with all its files; nothing that waits is in it. */
static void
drop_gone(struct keeper *keeper)
{
	for (uint32_t i = 0; i < keeper->roster.folder_count; i++) {
		const struct roster_folder *folder = &keeper->roster.folders[i];

		if (!folder->path || folder->root || folder->files || folder->inode ||
		    folder->stale)
			continue;
		unwatch(keeper, i);
		roster_remove_folder(&keeper->roster, i);
	}
}

/* Aside: a look may hang where a server is gone. */
static void
look(void *argument)
{
	struct keeper *keeper = argument;
	struct roster *roster = &keeper->roster;
	int tries = TRIES;

	if (queue_is_empty(&keeper->queue))
		drop_gone(keeper);
	for (uint32_t i = 0; i < roster->folder_count; i++)
		if (roster->folders[i].path)
			look_at_folder(keeper, i, &tries);
	for (uint32_t i = 0; i < roster->file_count; i++)
		if (is_due(keeper, i))
			lookout_changed(keeper, roster->files[i].folder, roster->files[i].name);
	keeper->round = keeper->round + ROUND < roster->file_count ? keeper->round + ROUND : 0;
	for (uint32_t i = 0; i < roster->folder_count; i++) {
		struct roster_folder *folder = &roster->folders[i];
		bool lists = folder->path && folder->stale && folder->owner != ROSTER_NONE;

		folder->stale = false; /* unless there is too much at once */
		if (lists)
			list_new(keeper, i);
	}
}

void
lookout_tend(struct keeper *keeper, uint64_t now)
{
	uint64_t start;

	if (now >= keeper->heard || keeper->heard == UINT64_MAX)
		hear(keeper, now);
	/* while many wait, a look would find the same ones */
	if (now < keeper->looked || keeper->queue.count - keeper->queue.next > QUEUE_MOST / 2)
		return;
	start = lookout_spent();
	keeper->looked = UINT64_MAX;
	if (!aside_run_with(look, keeper, keeper_attend, keeper)) {
		keeper->hung = true;
		return;
	}
	if (keeper->looked == UINT64_MAX)
		keeper->looked = lookout_after(stop_now(), lookout_spent() - start);
}
