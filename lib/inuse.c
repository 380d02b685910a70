/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "holders.h"
#include "num.h"
#include "stop.h"

#define CIFS_MAGIC 0xff534d42
#define SMB2_MAGIC 0xfe534d42

/* A thread of ours that has just opened the file lets go of it as soon as it runs. */
#define WAIT  1000000ULL /* ns */
#define WAITS 2000

#define LINK 32 /* "/proc/self/fd/N" */

void
inuse_begin(struct inuse_tools *tools)
{
	pthread_mutex_init(&tools->lock, NULL);
	pthread_cond_init(&tools->left, NULL);
	tools->count = 0;
	atomic_init(&tools->begun, 0);
	atomic_init(&tools->done, 0);
}

void
inuse_end(struct inuse_tools *tools)
{
	pthread_cond_destroy(&tools->left);
	pthread_mutex_destroy(&tools->lock);
}

/* Opens once more what is FD; FLAGS as those of open(2). It keeps its number. */
static int
open_again(int fd, int flags)
{
	char link[LINK];
	int again;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	again = open(link, flags | O_CLOEXEC);
	if (again < 0)
		return -1;
	if (dup3(again, fd, O_CLOEXEC) < 0) {
		close(again);
		return -1;
	}
	close(again);
	return 0;
}

int
inuse_let_go(struct inuse_tools *tools, int fd)
{
	int result;

	atomic_fetch_add(&tools->begun, 1);
	result = open_again(fd, O_PATH); /* which does not count as open */
	atomic_fetch_add(&tools->done, 1);
	return result;
}

static size_t
place_of(const struct inuse_tools *tools, const struct stat *status)
{
	size_t i = 0;

	while (i < tools->count &&
	    (tools->files[i].device != status->st_dev || tools->files[i].inode != status->st_ino))
		i++;
	return i;
}

int
inuse_enter(struct inuse_tools *tools, int fd, const struct stat *status)
{
	bool gone = false;

	pthread_mutex_lock(&tools->lock);
	while (place_of(tools, status) < tools->count) {
		if (!gone && inuse_let_go(tools, fd) < 0) {
			pthread_mutex_unlock(&tools->lock);
			return -1;
		}
		gone = true;
		pthread_cond_wait(&tools->left, &tools->lock);
	}
	tools->files[tools->count++] = (struct inuse_file){ status->st_dev, status->st_ino };
	pthread_mutex_unlock(&tools->lock);
	if (!gone || open_again(fd, O_RDONLY | O_NONBLOCK) == 0)
		return 0;
	inuse_leave(tools, fd, status);
	return -1;
}

void
inuse_leave(struct inuse_tools *tools, int fd, const struct stat *status)
{
	inuse_let_go(tools, fd);
	pthread_mutex_lock(&tools->lock);
	tools->files[place_of(tools, status)] = tools->files[tools->count - 1];
	tools->count--;
	pthread_cond_broadcast(&tools->left);
	pthread_mutex_unlock(&tools->lock);
}

/* 0, or errno. */
static int
try_lease(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return errno;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return 0;
}

/* Whether another descriptor of ours has the file open. */
static bool
have_another(int fd, const struct stat *status)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	bool found = false;
	uint64_t number;

	while (folder && !found && (entry = readdir(folder))) {
		struct stat other;

		if (num_count(entry->d_name, &number) < 0 || (int)number == fd)
			continue;
		found = fstat((int)number, &other) == 0 && other.st_dev == status->st_dev &&
		    other.st_ino == status->st_ino && !(fcntl((int)number, F_GETFL) & O_PATH);
	}
	if (folder)
		closedir(folder);
	return found;
}

/* A lease where none of our own threads is in the way; 0, or errno. */
static int
take_lease(struct inuse_tools *tools, int fd, const struct stat *status)
{
	unsigned long long done;
	int error = 0;

	for (int i = 0; i < WAITS && !stop_asked(); i++) {
		done = atomic_load(&tools->done);
		error = try_lease(fd);
		if (error != EAGAIN)
			break;
		if (!have_another(fd, status) && atomic_load(&tools->begun) == done)
			break;
		stop_sleep(stop_now() + WAIT, -1);
	}
	return error;
}

enum trust { FULL, NO_LEASE, LAYERS };

/* What a lease tells, by the kind of file system. */
static enum trust
trust_in(int fd)
{
	struct statfs status;

	if (fstatfs(fd, &status) < 0)
		return NO_LEASE;
	switch ((uint32_t)status.f_type) {
	case OVERLAYFS_SUPER_MAGIC: /* leases are those of the overlay's own inodes */
		return LAYERS;
	case NFS_SUPER_MAGIC: /* EAGAIN where the server has not delegated the file */
	case CIFS_MAGIC:
	case SMB2_MAGIC:
		return NO_LEASE;
	default:
		return FULL;
	}
}

static enum inuse
look_at_processes(const struct stat *status)
{
	struct holders holders = { .device = status->st_dev, .inode = status->st_ino };
	bool complete;

	if (holders_find(&holders, 1, &complete) < 0)
		return INUSE_UNSEEN;
	return holders.count ? INUSE_HELD : complete ? INUSE_FREE : INUSE_UNSEEN;
}

enum inuse
inuse_ask(struct inuse_tools *tools, int fd, const struct stat *status)
{
	enum trust trust;
	int error;

	if (S_ISBLK(status->st_mode))
		return INUSE_DEVICE;
	trust = trust_in(fd);
	error = take_lease(tools, fd, status);
	if (error == 0 && trust != LAYERS)
		return INUSE_FREE;
	if (error == EAGAIN && trust != NO_LEASE)
		return INUSE_HELD;
	return trust == LAYERS ? INUSE_OVERLAY : look_at_processes(status);
}
