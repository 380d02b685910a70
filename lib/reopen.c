/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "aside.h"
#include "holes.h"
#include "lookout.h"
#include "num.h"

struct pin_what
reopen_what(const struct reopen *again)
{
	return pin_pages(again->fd, again->offset, again->end - again->offset);
}

/* Whether it is a file that is selected. */
static bool
measure_size(struct reopen *again)
{
	uint64_t capacity, size;

	if (S_ISBLK(again->status.st_mode) && again->named &&
	    ioctl(again->fd, BLKGETSIZE64, &capacity) == 0)
		again->status.st_size = (off_t)capacity;
	else if (!S_ISREG(again->status.st_mode))
		return false;
	size = (uint64_t)again->status.st_size;
	again->offset = num_least(again->range.offset, size);
	again->end = again->offset + num_least(again->range.length, size - again->offset);
	return size <= again->most;
}

static bool
is_layered(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && (uint32_t)system.f_type == OVERLAYFS_SUPER_MAGIC;
}

static int
open_again(struct reopen *again)
{
	int follow = again->named || again->follow ? 0 : O_NOFOLLOW;
	struct timespec seen;

	/* before it is opened, which can do things to a device */
	if ((follow ? lstat : stat)(again->path, &again->status) < 0) {
		again->status = (struct stat){ 0 };
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	}
	if (!S_ISREG(again->status.st_mode) && !(S_ISBLK(again->status.st_mode) && again->named))
		return 0;
	seen = again->status.st_ctim;
	again->fd = open(again->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
	if (again->fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? 0
											       : -1;
	again->layered = is_layered(again->fd);
	if (fstat(again->fd, &again->status) < 0)
		return -1;
	again->status.st_ctim = seen; /* what changes while it is opened is a change to come */
	return measure_size(again);
}

static void
open_aside(void *argument)
{
	struct reopen *again = argument;

	again->opened = open_again(again);
	again->error = errno;
}

static void
load_aside(void *argument)
{
	static const struct preload_hooks hooks;
	struct reopen *again = argument;
	uint64_t start = reopen_what(again).start, from = start + again->from;
	uint64_t to = num_least(start + again->to, again->end);

	if (from < again->offset)
		from = again->offset;
	again->loaded = (struct preload){ 0 };
	if (from >= to)
		return;
	again->holes = holes_any(again->fd, &again->status, from, to - from);
	if (!again->holes)
		preload_range(again->fd, &again->status, from, to - from, &hooks, &again->loaded);
}

struct reopen *
reopen_begin(struct keeper *keeper, char *path, bool named)
{
	struct reopen *again = path ? malloc(sizeof *again) : NULL;

	if (!again) {
		free(path);
		lookout_all(keeper); /* when there is memory */
		return NULL;
	}
	*again = (struct reopen){ .path = path,
		.named = named,
		.follow = keeper->select->follow,
		.range = keeper->select->range,
		.most = keeper->select->max_file_size,
		.fd = -1 };
	keeper->hung |= !aside_run_with(open_aside, again, keeper_attend, keeper);
	return keeper->hung ? NULL : again;
}

bool
reopen_load(struct keeper *keeper, struct reopen *again, uint64_t from, uint64_t to)
{
	again->from = from;
	again->to = to;
	keeper->hung |= !aside_run_with(load_aside, again, keeper_attend, keeper);
	return !keeper->hung;
}

void
reopen_end(struct reopen *again)
{
	if (again->fd >= 0)
		close(again->fd);
	free(again->path);
	free(again);
}
