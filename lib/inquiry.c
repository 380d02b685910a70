/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inquiry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "fd.h"
#include "fullpath.h"
#include "unixsock.h"

#define WAITING  8
#define PATIENCE 100000 /* us: who asks has sent its question by then */

/* What is sent: one packet each way, and with the answer a descriptor. */
struct question {
	uint32_t version, format;
};

struct answer {
	uint32_t version, status;
};

#define VERSION 1U

/* The socket's path, from the root on: the working folder changes. */
static char *
beside(const char *pidfile)
{
	char folder[PATH_MAX], *full = fullpath(getcwd(folder, sizeof folder), pidfile), *path;

	if (!full)
		return NULL;
	if (asprintf(&path, "%s" INQUIRY_SUFFIX, full) < 0)
		path = NULL;
	free(full);
	return path;
}

/* For nobody else: with the mask that a socket is made with, since a chmod comes too late. */
static int
bind_private(int fd, const struct sockaddr_un *address, socklen_t length)
{
	mode_t mask = umask(0177);
	int result = bind(fd, (const struct sockaddr *)address, length);
	int error = errno;

	umask(mask);
	errno = error;
	return result;
}

/* Whether what is at the socket's path is the one that we made. */
static bool
is_ours(const struct inquiry *inquiry)
{
	struct stat now;

	return lstat(inquiry->path, &now) == 0 && now.st_dev == inquiry->device &&
	    now.st_ino == inquiry->inode;
}

/* A socket at ADDRESS, listened to, or -1. */
static int
listen_at(struct inquiry *inquiry, const struct sockaddr_un *address, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat status;

	if (fd < 0)
		return -1;
	if (bind_private(fd, address, length) == 0) {
		if (lstat(inquiry->path, &status) == 0 && listen(fd, WAITING) == 0) {
			inquiry->device = status.st_dev;
			inquiry->inode = status.st_ino;
			return fd;
		}
		unlink(inquiry->path);
	}
	fd_close(fd);
	return -1;
}

int
inquiry_listen(struct inquiry *inquiry, const char *pidfile)
{
	struct sockaddr_un address;
	socklen_t length;
	struct stat status;

	*inquiry = (struct inquiry){ .path = beside(pidfile), .fd = -1 };
	if (inquiry->path && unixsock_address(&address, &length, inquiry->path) == 0) {
		if (lstat(inquiry->path, &status) == 0 && S_ISSOCK(status.st_mode))
			unlink(inquiry->path); /* of one that was killed */
		inquiry->fd = listen_at(inquiry, &address, length);
	}
	if (inquiry->fd >= 0)
		return 0;
	free(inquiry->path);
	inquiry->path = NULL;
	return -1;
}

void
inquiry_close(struct inquiry *inquiry)
{
	if (!inquiry->path)
		return;
	if (is_ours(inquiry))
		unlink(inquiry->path);
	close(inquiry->fd);
	free(inquiry->path);
	*inquiry = (struct inquiry){ .fd = -1 };
}

static int
receive_question(int fd, enum out_format *format)
{
	struct timeval patience = { .tv_usec = PATIENCE };
	struct question question;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	n = recv(fd, &question, sizeof question, 0);
	if (n < 0)
		return -1;
	if (n != sizeof question || question.version != VERSION || question.format > OUT_PROM) {
		errno = EPROTO;
		return -1;
	}
	*format = (enum out_format)question.format;
	return 0;
}

/* Our own user, and root: some file systems do not look at the mode of a socket. */
static bool
may_ask(int fd)
{
	struct ucred who;
	socklen_t length = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
	    (who.uid == geteuid() || who.uid == 0);
}

/* Into *STATUS what goes with the report; the report's descriptor, or -1. */
static int
make_report(enum out_format format,
    int (*report)(enum out_format format, FILE *stream, void *argument), void *argument,
    int *status)
{
	int fd = memfd_create("report", MFD_CLOEXEC), copy;
	FILE *stream;

	if (fd < 0)
		return -1;
	copy = dup(fd);
	stream = copy < 0 ? NULL : fdopen(copy, "w");
	if (!stream) {
		if (copy >= 0)
			fd_close(copy);
		fd_close(fd);
		return -1;
	}
	*status = report(format, stream, argument);
	if (fclose(stream) == 0 && *status >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	fd_close(fd);
	return -1;
}

static int
send_answer(int fd, int status, int report)
{
	struct answer answer = { VERSION, (uint32_t)status };

	return unixsock_send(fd, &answer, sizeof answer, &report, 1, MSG_DONTWAIT);
}

int
inquiry_answer(struct inquiry *inquiry,
    int (*report)(enum out_format format, FILE *stream, void *argument), void *argument)
{
	int fd = accept4(inquiry->fd, NULL, NULL, SOCK_CLOEXEC), made, status, result = -1;
	enum out_format format;

	if (fd < 0)
		return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? 0 : -1;
	if (!may_ask(fd))
		errno = EPERM;
	else if (receive_question(fd, &format) == 0) {
		made = make_report(format, report, argument, &status);
		if (made >= 0) {
			result = send_answer(fd, status, made);
			fd_close(made);
		}
	}
	fd_close(fd);
	return result;
}

static int
receive_answer(int fd, int *status)
{
	struct answer answer;
	struct stat kind;
	int report, count = unixsock_receive(fd, &answer, sizeof answer, &report, 1);

	if (count < 0)
		return -1;
	if (count == 1) {
		*status = (int)answer.status;
		/* nothing that a read could hang on */
		if (answer.version == VERSION && fstat(report, &kind) == 0 && S_ISREG(kind.st_mode))
			return report;
		close(report);
	}
	errno = EPROTO;
	return -1;
}

/* Whether who listens is HOLDER, of a user whom we may believe: root, ours, or OWNER. */
static bool
is_holder(int fd, pid_t holder, uid_t owner)
{
	struct ucred who;
	socklen_t length = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
		return false;
	if (who.pid == holder && (who.uid == 0 || who.uid == geteuid() || who.uid == owner))
		return true;
	errno = EBADE;
	return false;
}

static int
connect_to(const char *pidfile, uint64_t timeout)
{
	char *path = beside(pidfile);
	int fd = path ? unixsock_connect(path, SOCK_SEQPACKET, timeout) : -1, error = errno;

	free(path);
	errno = error;
	return fd;
}

int
inquiry_ask(const char *pidfile, const struct pidfile_holder *holder, enum out_format format,
    uint64_t timeout, int *status)
{
	struct question question = { VERSION, format };
	int fd = connect_to(pidfile, timeout), report = -1;

	if (fd >= 0 && is_holder(fd, holder->pid, holder->owner) &&
	    send(fd, &question, sizeof question, MSG_NOSIGNAL) == sizeof question)
		report = receive_answer(fd, status);
	if (fd >= 0)
		fd_close(fd);
	if (report < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	return report;
}
