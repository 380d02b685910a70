/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diag.h"
#include "fd.h"
#include "stop.h"

#define NOT_FOUND  127
#define CANNOT_RUN 126

#define GRACE_MS 1000

static void
close_two(const int fds[2])
{
	fd_close(fds[0]);
	fd_close(fds[1]);
}

static void
become(char *const argv[])
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	diag_file(argv[0], error);
	_exit(error == ENOENT || error == ENOTDIR ? NOT_FOUND : CANNOT_RUN);
}

static int
read_byte(int fd)
{
	ssize_t n;
	char byte;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

pid_t
child_start(char *const argv[], int *go)
{
	int ends[2];
	pid_t pid;

	/* a socket, since a write to a pipe whose reader was killed would kill us too */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		close_two(ends);
		return -1;
	}
	if (pid == 0) {
		stop_restore();
		/* our copy of the parent's end would keep us from seeing it die */
		close(ends[1]);
		if (read_byte(ends[0]) < 0)
			_exit(CANNOT_RUN);
		become(argv);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

int
child_release(int go)
{
	ssize_t n;

	do
		n = send(go, "", 1, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	fd_close(go);
	return n == 1 ? 0 : -1;
}

int
child_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int
child_poll(pid_t pid, int *wait_status)
{
	pid_t ended;

	do
		ended = waitpid(pid, wait_status, WNOHANG);
	while (ended < 0 && errno == EINTR);
	return ended < 0 ? -1 : ended == pid;
}

int
child_wait(pid_t pid, int *wait_status)
{
	pid_t ended;

	do
		ended = waitpid(pid, wait_status, 0);
	while (ended < 0 && errno == EINTR);
	return ended < 0 ? -1 : 0;
}

int
child_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Waits for the child, GRACE_MS at most, in short steps where there is no pidfd. */
static int
await(pid_t pid, int pidfd, int *wait_status)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	uint64_t deadline = stop_now() + GRACE_MS * 1000000ULL;
	int result;

	while ((result = child_poll(pid, wait_status)) == 0) {
		uint64_t now = stop_now();

		if (now >= deadline)
			break;
		poll(&ended, 1, pidfd < 0 ? 10 : (int)((deadline - now) / 1000000) + 1);
	}
	return result;
}

/* The child's process group, where it has one of its own, with what it started. */
static void
signal_all(pid_t pid, int signal)
{
	if (kill(-pid, signal) < 0)
		kill(pid, signal);
}

int
child_end(pid_t pid, int *wait_status)
{
	int pidfd = child_pidfd(pid);
	int result;

	signal_all(pid, SIGTERM);
	result = await(pid, pidfd, wait_status);
	if (result == 0) {
		signal_all(pid, SIGKILL);
		result = await(pid, pidfd, wait_status);
	}
	if (pidfd >= 0)
		close(pidfd);
	return result;
}

pid_t
child_capture(char *const argv[], int *out, int *err)
{
	int outs[2], errs[2];
	pid_t pid;

	if (pipe2(outs, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(errs, O_CLOEXEC) < 0) {
		close_two(outs);
		return -1;
	}
	pid = fork();
	if (pid < 0) {
		close_two(outs);
		close_two(errs);
		return -1;
	}
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		stop_restore();
		close(STDIN_FILENO);
		if (open("/dev/null", O_RDONLY) < 0) {
			/* without /dev, a command that reads is told so: EBADF */
		}
		dup2(outs[1], STDOUT_FILENO);
		dup2(errs[1], STDERR_FILENO);
		become(argv);
	}
	setpgid(pid, pid); /* whichever of us comes first */
	close(outs[1]);
	close(errs[1]);
	*out = outs[0];
	*err = errs[0];
	return pid;
}

/* FOLDER/NAME, where FOLDER has LENGTH bytes and the file is one that we may run. */
static char *
runnable_in(const char *folder, size_t length, const char *name)
{
	struct stat status;
	char *path;

	if (asprintf(&path, "%.*s/%s", (int)length, folder, name) < 0)
		return NULL;
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *
find_beside_us(const char *name)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (length < 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	return slash ? runnable_in(self, (size_t)(slash - self), name) : NULL;
}

char *
child_find(const char *name)
{
	const char *folders = getenv("PATH");
	char *path = find_beside_us(name);

	if (!folders)
		folders = _PATH_DEFPATH;
	while (!path && *folders) {
		size_t length = strcspn(folders, ":");

		/* never what lies in the current folder */
		if (*folders == '/')
			path = runnable_in(folders, length, name);
		folders += length + (folders[length] == ':');
	}
	if (!path)
		errno = ENOENT;
	return path;
}
