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

#include "device.h"
#include "stop.h"

#define PAUSE 100000000ULL /* ns: what happens meanwhile is heard together */

#define MOST_NAMES 65536 /* that wait; of more, it is simpler to look at everything */

/* Looks take a fiftieth of the time, however much there is to look at. */
#define SHARE 50

uint64_t
lookout_spent(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return lookout_time(&spent);
}

uint64_t
lookout_time(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_nsec;
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
complain_once(struct keeper *keeper, const char *path)
{
	if (!keeper->watch_told)
		keeper->complain(path,
		    errno == ENOSPC ? "not watched, nor are others: it is looked at now and then, "
				      "raise fs.inotify.max_user_watches (sysctl)"
				    : "not watched: it is looked at now and then");
	keeper->watch_told = true;
}

/* The watch comes first: what changes after the look is told. */
static void
watch(struct keeper *keeper, uint32_t number)
{
	const char *path = keeper->roster.folders[number].path;
	struct stat status;
	int watch = tells_all(path) ? notice_watch(&keeper->notice, path) : -1;

	if (watch < 0 && errno != ENOENT && errno != ENOTDIR)
		complain_once(keeper, path);
	roster_watch(&keeper->roster, number, watch);
	if (stat(path, &status) == 0)
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
	size_t known = keeper->roster.folder_count;
	uint32_t number = roster_folder(&keeper->roster, path, length, true);

	if (number != ROSTER_NONE && keeper->roster.folder_count > known)
		watch(keeper, number);
	return number;
}

void
lookout_own(struct keeper *keeper, const char *path, uint32_t owner, bool root)
{
	uint32_t number = lookout_folder(keeper, path, strlen(path));
	struct roster_folder *folder = &keeper->roster.folders[number];

	if (number == ROSTER_NONE)
		return;
	if (folder->owner == ROSTER_NONE)
		folder->owner = owner;
	folder->root |= root;
}

void
lookout_new_folder(struct keeper *keeper, const char *path, uint32_t owner)
{
	uint32_t number;

	lookout_own(keeper, path, owner, false);
	number = roster_folder(&keeper->roster, path, strlen(path), false);
	if (number == ROSTER_NONE)
		return;
	keeper->roster.folders[number].stale = true;
	keeper->looked = 0;
}

void
lookout_all(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->roster.folder_count; i++)
		keeper->roster.folders[i].stale = true;
	keeper->looked = 0;
}

static bool
make_room(struct keeper *keeper)
{
	size_t size = keeper->changed_size ? 2 * keeper->changed_size : 64;
	struct keeper_name *names;

	if (keeper->changed_next == keeper->changed_count)
		keeper->changed_next = keeper->changed_count = 0;
	if (keeper->changed_count < keeper->changed_size)
		return true;
	names = realloc(keeper->changed, size * sizeof *names);
	if (!names)
		return false;
	keeper->changed = names;
	keeper->changed_size = size;
	return true;
}

void
lookout_changed(struct keeper *keeper, uint32_t folder, const char *name)
{
	uint32_t number = roster_find(&keeper->roster, folder, name);
	struct roster_file *file = number == ROSTER_NONE ? NULL : &keeper->roster.files[number];
	const struct keeper_name *last = keeper->changed_count > keeper->changed_next
	    ? &keeper->changed[keeper->changed_count - 1]
	    : NULL;
	struct keeper_name *next;

	if (file ? file->dirty : keeper->roster.folders[folder].owner == ROSTER_NONE)
		return;
	/* what is written to is told again and again */
	if (last && last->folder == folder && strcmp(last->name, name) == 0)
		return;
	next = make_room(keeper) ? &keeper->changed[keeper->changed_count] : NULL;
	if (!next || asprintf(&next->name, "%s", name) < 0) {
		lookout_all(keeper); /* later */
		return;
	}
	next->folder = folder;
	keeper->changed_count++;
	if (file)
		file->dirty = true;
}

char *
lookout_next(struct keeper *keeper, uint32_t *folder)
{
	struct keeper_name *next;
	uint32_t number;

	if (keeper->changed_next == keeper->changed_count)
		return NULL;
	next = &keeper->changed[keeper->changed_next++];
	*folder = next->folder;
	number = roster_find(&keeper->roster, next->folder, next->name);
	if (number != ROSTER_NONE)
		keeper->roster.files[number].dirty = false;
	return next->name;
}

/* For notice_read. */
static void
happened(enum notice_what what, int watch_number, const char *name, void *argument)
{
	struct keeper *keeper = argument;
	uint32_t folder;
	size_t at = 0;

	keeper->heard = 0;
	if (what == NOTICE_LOST || keeper->changed_count - keeper->changed_next > MOST_NAMES) {
		lookout_all(keeper);
		return;
	}
	if (what == NOTICE_GONE)
		keeper->looked = 0;
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

/* Names that are new in a folder. */
static void
list_new(struct keeper *keeper, uint32_t number)
{
	DIR *folder = opendir(keeper->roster.folders[number].path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    roster_find(&keeper->roster, number, entry->d_name) == ROSTER_NONE)
			lookout_changed(keeper, number, entry->d_name);
	if (folder)
		closedir(folder);
}

/* Whether another folder is at its path by now, or none, or, where nobody tells, other names
 * are in it. */
static void
look_at_folder(struct keeper *keeper, uint32_t number)
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
	} else if (there && folder->watch < 0 && folder->changed != lookout_time(&status.st_mtim)) {
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

static void
look(struct keeper *keeper)
{
	struct roster *roster = &keeper->roster;

	for (uint32_t i = 0; i < roster->folder_count; i++)
		if (roster->folders[i].path)
			look_at_folder(keeper, i);
	for (uint32_t i = 0; i < roster->file_count; i++) {
		const struct roster_file *file = &roster->files[i];

		if (file->name &&
		    (roster->folders[file->folder].stale || (file->look && !seems_same(keeper, i))))
			lookout_changed(keeper, file->folder, file->name);
	}
	for (uint32_t i = 0; i < roster->folder_count; i++) {
		struct roster_folder *folder = &roster->folders[i];

		if (folder->path && folder->stale && folder->owner != ROSTER_NONE)
			list_new(keeper, i);
		folder->stale = false;
	}
}

void
lookout_tend(struct keeper *keeper, uint64_t now)
{
	uint64_t start = lookout_spent(), took;

	if (now >= keeper->heard || keeper->heard == UINT64_MAX)
		hear(keeper, now);
	if (now < keeper->looked)
		return;
	look(keeper);
	took = lookout_spent() - start;
	keeper->looked = now + (took * SHARE > LOOKOUT_EVERY ? took * SHARE : LOOKOUT_EVERY);
}
