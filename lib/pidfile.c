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
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "fullpath.h"
#include "num.h"
#include "procs.h"
#include "stop.h"

#define TEXT 32 /* a process id, and a newline */

/*
 * A process that is killed lets go with the last of those that it started, which share the
 * lock and end a moment later.
 */
#define PATIENCE 1000000000ULL /* ns */
#define STEP     20000000ULL

#define NSEC 1000000000ULL

#define SLACK NSEC /* between the clock of files and ours */

static uint64_t
nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NSEC + (uint64_t)time->tv_nsec;
}

/*
 * The process id in a file; 0 where it holds none, or has none yet. -1 with EINVAL where it
 * holds something else, or is no file that keeps what is written (/proc): a slip must not cost a
 * file.
 */
static pid_t
read_pid(int fd)
{
	char text[TEXT + 1];
	ssize_t n = pread(fd, text, TEXT, 0);
	struct stat status;
	uint64_t pid;

	if (n < 0 || fstat(fd, &status) < 0)
		return -1;
	text[n] = '\0';
	if (n == 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (n == TEXT || status.st_size != n || num_count(text, &pid) < 0 || pid > INT_MAX) {
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

static bool
is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1 &&
	    status.st_uid == geteuid();
}

static int
open_file(const char *path, int flags)
{
	/* a FIFO would be waited for; a link may lead anywhere */
	return open(path, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
}

static int
open_ours(const char *path)
{
	int fd = open_file(path, O_RDWR | O_CREAT);

	if (fd < 0 || is_ours(fd))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
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
			errno = stop_asked() ? EINTR : EWOULDBLOCK;
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

/* When process PID began, in ns as a file's time; UINT64_MAX where there is none that runs. */
static uint64_t
began(pid_t pid)
{
	struct procs_one one = { .pid = pid };
	struct timespec up, now;
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);

	if (procs_look("", &one) < 0 || one.dead)
		return UINT64_MAX;
	clock_gettime(CLOCK_BOOTTIME, &up);
	clock_gettime(CLOCK_REALTIME, &now);
	return nanoseconds(&now) - nanoseconds(&up) + one.started * (NSEC / ticks);
}

/*
 * Whether PID, which the file behind FD names while nobody has it locked, is another program that
 * keeps its pid file so: who wrote it began before. Else it was killed, and the number is
 * another's by now. One that is killed just now lets go of the lock a moment before.
 */
static bool
is_others(int fd, pid_t pid)
{
	struct stat status;

	if (pid == 0 || pid == getpid() || fstat(fd, &status) < 0)
		return false;
	for (uint64_t until = stop_now() + PATIENCE;
	     began(pid) <= nanoseconds(&status.st_mtim) + SLACK;) {
		if (stop_now() >= until || stop_asked())
			return true;
		stop_sleep(stop_now() + STEP, -1);
	}
	return false;
}

/* With the lock: what is in the way is left as it is. */
static int
fill(int fd, const char *path, pid_t *holder)
{
	pid_t pid = read_pid(fd);
	int error;

	if (pid < 0)
		return -1;
	if (is_others(fd, pid)) {
		*holder = pid;
		errno = EEXIST;
		return -1;
	}
	/* for nobody else to open: a flock(2) of theirs, for which reading is enough, would keep
	 * the next one from starting */
	if (fchmod(fd, 0600) == 0 && write_pid(fd) == 0)
		return 0;
	/* it was empty, or of one that has ended: half of a number is worse than none */
	error = errno;
	unlink(path);
	errno = error;
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
		pidfile->fd = open_ours(path);
		if (pidfile->fd < 0)
			goto failed;
		had = lock(pidfile->fd, path);
		if (had == 0)
			close(pidfile->fd);
	} while (had == 0);
	if (had > 0 && fill(pidfile->fd, path, holder) == 0)
		return 0;
	if (had < 0 && errno == EWOULDBLOCK) {
		pid_t pid = read_pid(pidfile->fd);

		*holder = pid < 0 ? 0 : pid;
		errno = EWOULDBLOCK;
	}
	fd_close(pidfile->fd);
failed:
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

int
pidfile_find(const char *path, struct pidfile_holder *holder)
{
	int fd = open_file(path, O_RDONLY), result = -1;
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0) {
		holder->owner = status.st_uid;
		holder->pid = S_ISREG(status.st_mode) ? read_pid(fd) : -1;
		if (!S_ISREG(status.st_mode))
			errno = EINVAL;
		/* shared: several may ask at a time; a start that comes now tries again */
		if (holder->pid >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
			result = 0;
		else if (holder->pid >= 0 && errno == EWOULDBLOCK)
			result = 1;
	}
	/* its process has begun, and has not written yet */
	if (result == 1 && holder->pid == 0) {
		errno = EAGAIN;
		result = -1;
	}
	fd_close(fd);
	return result;
}
