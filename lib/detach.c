/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diag.h"
#include "fd.h"
#include "num.h"
#include "status.h"

/*
 * Who called, and ends before it was told, by Ctrl-C for one, wants none of it: the kernel makes
 * that a SIGTERM for us.
 */
static void
follow_caller(int caller)
{
	fcntl(caller, F_SETOWN, getpid());
	fcntl(caller, F_SETSIG, SIGTERM);
	fcntl(caller, F_SETFL, fcntl(caller, F_GETFL) | O_ASYNC);
}

/* Twice: who leads a session could get a terminal by opening one. */
static void
leave_session(void)
{
	pid_t pid;

	if (setsid() < 0 || (pid = fork()) < 0) {
		diag_error("no process can be made for the background: %s", strerror(errno));
		_exit(EXIT_FAILURE);
	}
	if (pid > 0)
		_exit(EXIT_SUCCESS);
}

/* What the caller had open: some of it, a list of names for one, is still to be read. */
static void
note_inherited(struct detach *detach)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t size = 0;

	while (folder && (entry = readdir(folder))) {
		uint64_t fd;

		if (num_count(entry->d_name, &fd) < 0 || fd <= STDERR_FILENO ||
		    fd == (uint64_t)dirfd(folder))
			continue;
		if (detach->count == size) {
			int *more = realloc(detach->inherited, (size + 16) * sizeof *more);

			if (!more)
				break; /* it stays open */
			detach->inherited = more;
			size += 16;
		}
		detach->inherited[detach->count++] = (int)fd;
	}
	if (folder)
		closedir(folder);
}

static int
await_status(int fd)
{
	unsigned char status;
	ssize_t n;

	do
		n = recv(fd, &status, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return status;
	diag_error("the process that was to go on ended without a word");
	return STATUS_FAILED;
}

int
detach_begin(struct detach *detach, int *status)
{
	int ends[2];
	pid_t pid;

	*detach = (struct detach){ .caller = -1 };
	note_inherited(detach);
	/* a socket: whoever of us dies first, the other learns it, and no SIGPIPE comes */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		fd_close(ends[0]);
		fd_close(ends[1]);
		return -1;
	}
	if (pid == 0) {
		close(ends[0]);
		detach->caller = ends[1];
		leave_session();
		follow_caller(ends[1]);
		return 0;
	}
	close(ends[1]);
	while (waitpid(pid, &(int){ 0 }, 0) < 0 && errno == EINTR)
		continue;
	*status = await_status(ends[0]);
	close(ends[0]);
	return 1;
}

int
detach_tell(struct detach *detach, int status)
{
	unsigned char byte = (unsigned char)status;
	ssize_t n;

	if (detach->caller < 0)
		return 0;
	/* that it ends then is what we ask for */
	fcntl(detach->caller, F_SETFL, fcntl(detach->caller, F_GETFL) & ~O_ASYNC);
	do
		n = send(detach->caller, &byte, 1, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	fd_close(detach->caller);
	detach->caller = -1;
	return n == 1 ? 0 : -1;
}

/* A pipe of the caller's, kept open, would keep who reads it waiting. */
static void
close_inherited(struct detach *detach)
{
	for (size_t i = 0; i < detach->count; i++)
		close(detach->inherited[i]);
	free(detach->inherited);
	detach->inherited = NULL;
	detach->count = 0;
}

int
detach_settle(struct detach *detach, bool stay)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), result = 0;

	if (fd < 0)
		return -1;
	for (int standard = STDIN_FILENO; standard <= STDERR_FILENO && result == 0; standard++)
		if (fd != standard && dup2(fd, standard) < 0)
			result = -1;
	if (fd > STDERR_FILENO)
		close(fd);
	if (result < 0)
		return -1;
	close_inherited(detach);
	return stay ? 0 : chdir("/");
}
