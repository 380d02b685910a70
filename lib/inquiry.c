/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inquiry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "fullpath.h"

#define SUFFIX   ".sock"
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

static void
close_keeping(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

static int
set_address(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address->sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address->sun_path, path);
	return 0;
}

/* The socket's path, from the root on: the working folder changes. */
static char *
beside(const char *pidfile)
{
	char folder[PATH_MAX], *full = fullpath(getcwd(folder, sizeof folder), pidfile), *path;

	if (!full)
		return NULL;
	if (asprintf(&path, "%s" SUFFIX, full) < 0)
		path = NULL;
	free(full);
	return path;
}

/* For nobody else: with the mask that a socket is made with, since a chmod comes too late. */
static int
bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0177);
	int result = bind(fd, (const struct sockaddr *)address, sizeof *address);
	int error = errno;

	umask(mask);
	errno = error;
	return result;
}

int
inquiry_listen(struct inquiry *inquiry, const char *pidfile)
{
	struct sockaddr_un address;
	struct stat status;
	int fd;

	*inquiry = (struct inquiry){ .path = beside(pidfile), .fd = -1 };
	if (!inquiry->path || set_address(&address, inquiry->path) < 0)
		goto failed;
	if (lstat(inquiry->path, &status) == 0 && S_ISSOCK(status.st_mode))
		unlink(inquiry->path); /* of one that was killed */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		goto failed;
	if (bind_private(fd, &address) == 0) {
		if (listen(fd, WAITING) == 0) {
			inquiry->fd = fd;
			return 0;
		}
		unlink(inquiry->path);
	}
	close_keeping(fd);
failed:
	free(inquiry->path);
	inquiry->path = NULL;
	return -1;
}

void
inquiry_close(struct inquiry *inquiry)
{
	if (!inquiry->path)
		return;
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
			close_keeping(copy);
		close_keeping(fd);
		return -1;
	}
	*status = report(format, stream, argument);
	if (fclose(stream) == 0 && *status >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close_keeping(fd);
	return -1;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head; /* aligns it */
};

static int
send_answer(int fd, int status, int report)
{
	struct answer answer = { VERSION, (uint32_t)status };
	struct iovec part = { &answer, sizeof answer };
	union control control = { 0 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes,
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof report);
	memcpy(CMSG_DATA(head), &report, sizeof report);
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
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
			close_keeping(made);
		}
	}
	close_keeping(fd);
	return result;
}

static int
receive_answer(int fd, int *status)
{
	struct answer answer = { 0 };
	struct iovec part = { &answer, sizeof answer };
	union control control = { 0 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes,
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head;
	int report;

	if (n < 0)
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (n == sizeof answer && answer.version == VERSION && head &&
	    head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof report)) {
		memcpy(&report, CMSG_DATA(head), sizeof report);
		*status = (int)answer.status;
		return report;
	}
	errno = EPROTO;
	return -1;
}

static int
connect_to(const char *pidfile, uint64_t timeout)
{
	struct timeval patience = {
		.tv_sec = (time_t)(timeout / 1000000000),
		.tv_usec = (suseconds_t)(timeout % 1000000000 / 1000),
	};
	struct sockaddr_un address;
	char *path = beside(pidfile);
	int fd = -1;

	if (!path)
		return -1;
	if (set_address(&address, path) == 0)
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	free(path);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close_keeping(fd);
	return -1;
}

int
inquiry_ask(const char *pidfile, enum out_format format, uint64_t timeout, int *status)
{
	struct question question = { VERSION, format };
	int fd = connect_to(pidfile, timeout), report = -1;

	if (fd >= 0 && send(fd, &question, sizeof question, MSG_NOSIGNAL) == sizeof question)
		report = receive_answer(fd, status);
	if (fd >= 0)
		close_keeping(fd);
	if (report < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	return report;
}
