/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opening.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "folder.h"
#include "residency.h"
#include "stop.h"

#define LEASE_WAIT  2000000ULL /* ns */
#define LEASE_TRIES 100

/* Opens for reading what is open already, be it deleted meanwhile. */
static int
reopen(const struct folder *held, int flags)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", folder_fd(held));
	return open(path, flags);
}

/* Opens the file of ITEM, called NAME in its folder. */
static int
open_item(const struct batch_item *item, const char *name, int flags)
{
	return item->kind == BATCH_HELD ? reopen(item->folder, flags)
					: openat(folder_fd(item->folder), name, flags);
}

/* Whether a name that nobody has looked at is one of what is opened: opening a device
 * can do things. Else -1 with errno. */
static int
look(const struct batch_item *item, const char *name, bool follow, bool devices)
{
	struct stat status;

	if (fstatat(folder_fd(item->folder), name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISREG(status.st_mode) || (S_ISBLK(status.st_mode) && devices))
		return 0;
	errno = S_ISDIR(status.st_mode) ? EISDIR : S_ISLNK(status.st_mode) ? ELOOP : ESPIPE;
	return -1;
}

/* Whether what is called NAME is known without opening it; else it is yet to be opened. */
static bool
is_known(struct batch_item *item, const char *name, const struct each *each)
{
	struct stat *status = &item->file.status;

	return each->opens &&
	    fstatat(folder_fd(item->folder), name, status,
		each->select->follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(status->st_mode) && !each->opens(status);
}

int
opening_open(struct batch_item *item, const char *name, const struct each *each)
{
	const struct select *select = each->select;
	struct stat *status = &item->file.status;
	uint64_t capacity;
	/* O_NONBLOCK: should it have become a FIFO since, it shall not hang us */
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	bool asked = item->operand || item->kind == BATCH_NAMED; /* not only listed in a folder */
	bool devices = item->operand && !each->only_files;

	if (!item->operand && !select->follow && item->kind != BATCH_HELD)
		flags |= O_NOFOLLOW;
	if (item->kind == BATCH_NAMED && look(item, name, !(flags & O_NOFOLLOW), devices) < 0)
		return -1;
	if (!asked && item->kind == BATCH_FOUND && is_known(item, name, each))
		return (uint64_t)status->st_size <= select->max_file_size;
	item->file.fd = open_item(item, name, flags);
	/* who has a lease on it (fcntl(2)) was told, and has a moment to give it up */
	for (int i = 0; i < LEASE_TRIES && item->file.fd < 0 && errno == EWOULDBLOCK; i++) {
		stop_sleep(stop_now() + LEASE_WAIT, -1);
		item->file.fd = open_item(item, name, flags);
	}
	if (item->file.fd < 0) {
		/* gone or replaced since it was listed */
		if (!asked && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
			return 0;
		return -1;
	}
	if (fstat(item->file.fd, status) < 0)
		return -1;
	if (S_ISBLK(status->st_mode) && devices) {
		if (ioctl(item->file.fd, BLKGETSIZE64, &capacity) < 0)
			return -1;
		status->st_size = (off_t)capacity;
	} else if (!S_ISREG(status->st_mode)) {
		errno = ESPIPE;
		return asked ? -1 : 0;
	}
	return (uint64_t)status->st_size <= select->max_file_size;
}

static struct num_range
clip(const struct num_range *range, uint64_t size)
{
	uint64_t offset = range->offset < size ? range->offset : size, left = size - offset;

	return (struct num_range){ offset, range->length < left ? range->length : left };
}

void
opening_set_range(struct each_file *file, struct num_range *parts, const struct num_range *range)
{
	uint64_t size = (uint64_t)file->status.st_size, pages = residency_pages(0, size);
	struct num_range clipped = clip(range, size);

	file->offset = clipped.offset;
	file->length = clipped.length;
	if (!file->part_count)
		return;
	file->length = 0;
	for (size_t i = 0; i < file->part_count; i++) {
		/* part of the last page may be meant by all of it */
		file->beyond |= parts[i].length &&
		    residency_pages(0, parts[i].offset + parts[i].length) > pages;
		parts[i] = clip(&parts[i], size);
		file->length += parts[i].length;
	}
	file->offset = parts[0].offset;
}
