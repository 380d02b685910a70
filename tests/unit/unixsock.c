/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unixsock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define WORDS "sixteen bytes..."

static int ends[2]; /* of a socket: what goes in at the first comes out of the other */

static void
connect_ends(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) < 0)
		exit(99);
}

static void
close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}

/* A descriptor of a file of its own, SIZE bytes long. */
static int
open_file(off_t size)
{
	int fd = memfd_create("unit", 0);

	if (fd < 0 || ftruncate(fd, size) < 0)
		exit(99);
	return fd;
}

static off_t
size_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 ? status.st_size : -1;
}

/* How many descriptors are open here, and the one that looks. */
static int
count_open(void)
{
	DIR *stream = opendir("/proc/self/fd");
	int count = 0;

	if (!stream)
		exit(99);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count;
}

static void
alone(void)
{
	char words[sizeof WORDS] = "";
	int fd = -1;

	connect_ends();
	ok(unixsock_send(ends[0], WORDS, sizeof WORDS, NULL, 0, 0) == 0, "a packet is sent");
	ok(unixsock_receive(ends[1], words, sizeof words, &fd, 1) == 0 && fd == -1,
	    "it comes with no descriptor");
	is(words, WORDS, "and is the same");
	errno = 0;
	ok(unixsock_receive(ends[1], words, sizeof words, &fd, 1) == -1 && errno == EAGAIN,
	    "there is no other");
	close(ends[0]);
	errno = 0;
	ok(unixsock_receive(ends[1], words, sizeof words, &fd, 1) == -1 && errno == EPROTO,
	    "the end");
	errno = 0;
	ok(unixsock_send(ends[1], WORDS, sizeof WORDS, NULL, 0, 0) == -1 && errno == EPIPE,
	    "nobody listens");
	close(ends[1]);
}

static void
accompanied(void)
{
	int sent[UNIXSOCK_TOGETHER], got[UNIXSOCK_TOGETHER], before, count;
	char words[sizeof WORDS] = "";
	bool right = true, open = true, kept = true;

	connect_ends();
	for (int i = 0; i < UNIXSOCK_TOGETHER; i++)
		sent[i] = open_file(100 + i);
	before = count_open();
	ok(unixsock_send(ends[0], WORDS, sizeof WORDS, sent, UNIXSOCK_TOGETHER, 0) == 0,
	    "as many descriptors as may be");
	count = unixsock_receive(ends[1], words, sizeof words, got, UNIXSOCK_TOGETHER);
	ok(count == UNIXSOCK_TOGETHER && count_open() == before + UNIXSOCK_TOGETHER,
	    "all of them come");
	for (int i = 0; i < count; i++) {
		right &= size_of(got[i]) == 100 + i;
		open &= size_of(sent[i]) == 100 + i;
		kept &= (fcntl(got[i], F_GETFD) & FD_CLOEXEC) != 0;
	}
	is(words, WORDS, "with the packet");
	ok(right, "in their order");
	ok(open, "those that were sent stay open");
	ok(kept, "no other program gets what came");
	for (int i = 0; i < count; i++)
		close(got[i]);
	errno = 0;
	ok(unixsock_send(ends[0], WORDS, sizeof WORDS, sent, UNIXSOCK_TOGETHER + 1, 0) == -1 &&
		errno == EINVAL,
	    "one more is refused");
	errno = 0;
	ok(unixsock_receive(ends[1], words, sizeof words, got, UNIXSOCK_TOGETHER + 1) == -1 &&
		errno == EINVAL,
	    "as is room for one more");
	for (int i = 0; i < UNIXSOCK_TOGETHER; i++)
		close(sent[i]);
	close_ends();
}

/* No descriptor stays open that the caller does not know of. */
static void
unwanted(void)
{
	int sent[] = { open_file(1), open_file(2), open_file(3) }, got[2] = { -1, -1 }, before;
	char words[sizeof WORDS], longer[2 * sizeof WORDS] = WORDS;

	connect_ends();
	before = count_open();
	unixsock_send(ends[0], WORDS, sizeof WORDS, sent, 3, 0);
	ok(unixsock_receive(ends[1], words, sizeof words, got, 1) == 1 && size_of(got[0]) == 1,
	    "more descriptors than are wanted: the first");
	ok(count_open() == before + 1 && got[1] == -1, "and no other");
	close(got[0]);
	unixsock_send(ends[0], WORDS, sizeof WORDS, sent, 3, 0);
	ok(unixsock_receive(ends[1], words, sizeof words, NULL, 0) == 0 && count_open() == before,
	    "none is wanted: there is none");
	unixsock_send(ends[0], WORDS, sizeof WORDS - 1, sent, 2, 0);
	errno = 0;
	ok(unixsock_receive(ends[1], words, sizeof words, got, 2) == -1 && errno == EPROTO,
	    "a packet is too short");
	ok(count_open() == before, "what came with it is closed");
	unixsock_send(ends[0], longer, sizeof longer, sent, 2, 0);
	errno = 0;
	ok(unixsock_receive(ends[1], words, sizeof words, got, 2) == -1 && errno == EPROTO,
	    "or too long");
	ok(count_open() == before, "here, too");
	for (int i = 0; i < 3; i++)
		close(sent[i]);
	close_ends();
}

/* Where no more may be open, those come for which there is room. */
static void
crowded(void)
{
	int sent[] = { open_file(1), open_file(2), open_file(3) }, got[3] = { -1, -1, -1 };
	struct rlimit limit, less;
	char words[sizeof WORDS];
	int next, count;

	connect_ends();
	unixsock_send(ends[0], WORDS, sizeof WORDS, sent, 3, 0);
	next = dup(sent[0]); /* the lowest that is free */
	close(next);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		exit(99);
	less = (struct rlimit){ (rlim_t)next + 2, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &less);
	count = unixsock_receive(ends[1], words, sizeof words, got, 3);
	setrlimit(RLIMIT_NOFILE, &limit);
	ok(count == 2 && size_of(got[0]) == 1 && size_of(got[1]) == 2 && got[2] == -1,
	    "there is room for two of three");
	is(words, WORDS, "the packet comes all the same");
	while (count > 0)
		close(got[--count]);
	for (int i = 0; i < 3; i++)
		close(sent[i]);
	close_ends();
}

int
main(void)
{
	alone();
	accompanied();
	unwanted();
	crowded();
	return tap_done();
}
