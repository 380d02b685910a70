/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fullpath.h"
#include "num.h"
#include "stop.h"

#define TEXT 32 /* a process id, and a newline */

/*
 * A process that is killed lets go with the last of those that it started, which share the
 * lock and end a moment later.
 */
#define PATIENCE 1000000000ULL /* ns */
#define STEP     20000000ULL

static void
close_keeping(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

/* The process id in a file; 0 where it holds none, or has none yet. -1 with EINVAL where it
 * holds something else: a slip must not cost a file. */
static pid_t
read_pid(int fd)
{
	char text[TEXT + 1];
	ssize_t n = pread(fd, text, TEXT, 0);
	uint64_t pid;

	if (n < 0)
		return -1;
	text[n] = '\0';
	if (n == 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (n == TEXT || num_count(text, &pid) < 0 || pid > INT_MAX) {
		errno = EINVAL;
		return -1;
	}
	return (pid_t)pid;
}

/* Whether PATH still is the file behind FD: it may have been removed before it was locked. */
static bool
is_there(int fd, const char *path)
{
	struct stat ours, now;

	return fstat(fd, &ours) == 0 && lstat(path, &now) == 0 && ours.st_dev == now.st_dev &&
	    ours.st_ino == now.st_ino;
}

static int
open_file(const char *path, int flags)
{
	/* a FIFO would be waited for; a link may lead anywhere */
	int fd = open(path, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0644);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

/* 1 where the lock was had, 0 where the file is gone meanwhile, -1 with errno. */
static int
lock(int fd, const char *path)
{
	/* flock, not fcntl: that would be lost as soon as a tree is read that the file lies in */
	for (uint64_t until = stop_now() + PATIENCE; flock(fd, LOCK_EX | LOCK_NB) < 0;) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (stop_now() >= until || stop_asked()) {
			errno = EWOULDBLOCK;
			return -1;
		}
		stop_sleep(stop_now() + STEP, -1);
	}
	return is_there(fd, path);
}

static int
write_pid(int fd)
{
	char text[TEXT];
	int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	ssize_t n = pwrite(fd, text, (size_t)length, 0);

	/* never empty, for who reads it */
	if (n == length)
		return ftruncate(fd, length);
	if (n >= 0)
		errno = ENOSPC;
	return -1;
}

int
pidfile_take(struct pidfile *pidfile, const char *path, pid_t *holder)
{
	char folder[PATH_MAX];
	int had;

	*holder = 0;
	/* the working folder changes later, for one */
	pidfile->path = fullpath(getcwd(folder, sizeof folder), path);
	if (!pidfile->path)
		return -1;
	do {
		pidfile->fd = open_file(path, O_RDWR | O_CREAT);
		if (pidfile->fd < 0)
			return -1;
		had = lock(pidfile->fd, path);
		if (had == 0)
			close(pidfile->fd);
	} while (had == 0);
	if (had > 0 && read_pid(pidfile->fd) >= 0 && write_pid(pidfile->fd) == 0)
		return 0;
	if (had < 0 && errno == EWOULDBLOCK) {
		pid_t pid = read_pid(pidfile->fd);

		*holder = pid < 0 ? 0 : pid;
		errno = EWOULDBLOCK;
	}
	close_keeping(pidfile->fd);
	free(pidfile->path);
	pidfile->path = NULL;
	return -1;
}

void
pidfile_drop(struct pidfile *pidfile)
{
	if (!pidfile->path)
		return;
	/* removed before the lock goes, or it could be the next one's */
	if (is_there(pidfile->fd, pidfile->path))
		unlink(pidfile->path);
	close(pidfile->fd);
	free(pidfile->path);
	pidfile->path = NULL;
}

/* Of a file that is locked: its process has begun, and may not have written yet. */
static pid_t
read_running(int fd)
{
	pid_t pid = read_pid(fd);

	if (pid != 0)
		return pid;
	errno = EAGAIN;
	return -1;
}

pid_t
pidfile_holder(const char *path)
{
	int fd = open_file(path, O_RDONLY);
	pid_t pid;

	if (fd < 0)
		return -1;
	/* shared: several may ask at a time; a start that comes now tries again */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		pid = read_pid(fd) < 0 ? -1 : 0;
	else
		pid = errno == EWOULDBLOCK ? read_running(fd) : -1;
	close_keeping(fd);
	return pid;
}
