/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came into memory, or left it, by other ways than reads: writes, preloads, truncation. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

/* pages */
#define CALL  64
#define PIECE 16 /* of a sendfile */

#define SMALL_FILES 50

/* What a write puts into memory is there when it is read. */
static void
write_then_read(struct work *work)
{
	for (size_t page = 0; page < work->pages; page += 3) {
		off_t at = (off_t)(page * PAGE);

		/* whole pages, and parts that the kernel must complete by a read */
		if (pwrite(work->file.fd, buffer, page % 2 ? PAGE : 10, at + (page % 2 ? 0 : 7)) <
		    0)
			broken("write");
		work->file.cached[page] = 1;
		work->truth->dirtied++;
	}
	read_sequential(work, 32 * PAGE);
}

/* So small that a file system may keep them where it keeps what it knows of them (ext4 with
 * inline_data). */
static void
write_small_then_read(struct work *work)
{
	char path[sizeof work->file.path + 8];

	add_others(work, SMALL_FILES);
	for (int i = 0; i < SMALL_FILES; i++) {
		struct file *file = &work->others[i];

		snprintf(path, sizeof path, "%s.%d", work->file.path, i);
		file_make(file, path, 5);
		file->cached[0] = 1;
		read_at(work, file, PAGE, 0);
		/* and once more, where there is something to be completed */
		file_set(file, COLD);
		if (pwrite(file->fd, buffer, 3, 0) != 3)
			broken("write");
		read_at(work, file, PAGE, 0);
	}
}

/* Calls for each 32 pages of quarter I of the file. */
static void
for_quarter(struct work *work, int i, int (*preload)(int fd, off_t at))
{
	off_t quarter = work->file.size / 4;

	for (off_t at = i * quarter; at < (i + 1) * quarter; at += 32 * (off_t)PAGE)
		if (preload(work->file.fd, at) != 0)
			broken("preload");
}

static int
by_fadvise(int fd, off_t at)
{
	return posix_fadvise(fd, at, 32 * PAGE, POSIX_FADV_WILLNEED);
}

static int
by_readahead(int fd, off_t at)
{
	return (int)readahead(fd, at, 32 * PAGE);
}

static int
by_madvise(int fd, off_t at)
{
	void *map = mmap(NULL, 32 * PAGE, PROT_READ, MAP_SHARED, fd, at);
	int result = map == MAP_FAILED ? -1 : madvise(map, 32 * PAGE, MADV_WILLNEED);

	munmap(map, 32 * PAGE);
	return result;
}

static int
by_uring_fadvise(int fd, off_t at)
{
	return uring_fadvise(fd, at, 32 * PAGE);
}

static int
by_uring_madvise(int fd, off_t at)
{
	void *map = mmap(NULL, 32 * PAGE, PROT_READ, MAP_SHARED, fd, at);
	int result = map == MAP_FAILED ? -1 : uring_madvise(map, 32 * PAGE);

	munmap(map, 32 * PAGE);
	return result;
}

/* Until so many QUARTERS are in memory, by mincore, which asks nothing of the disk. */
static void
await_preload(struct work *work, size_t quarters)
{
	for (int i = 0; i < 100; i++) {
		file_holds(&work->file);
		if (!memchr((void *)work->file.cached, 0, quarters * work->pages / 4))
			break;
		usleep(10000);
	}
}

/* The preload did its job: the first access is a hit. */
static void
preload_then_read(struct work *work)
{
	for_quarter(work, 0, by_fadvise);
	for_quarter(work, 1, by_readahead);
	for_quarter(work, 2, by_madvise);
	await_preload(work, 3);
	read_sequential(work, 32 * PAGE);
}

static void
preload_by_uring_then_read(struct work *work)
{
	if (uring_fadvise(work->file.fd, 0, PAGE) != 0)
		skip(work, "the kernel has no io_uring");
	for_quarter(work, 0, by_uring_fadvise);
	for_quarter(work, 1, by_uring_madvise);
	await_preload(work, 2);
	read_sequential(work, 32 * PAGE);
}

static void
preload_then_touch(struct work *work)
{
	volatile char *map;

	for_quarter(work, 0, by_fadvise);
	for_quarter(work, 1, by_readahead);
	for_quarter(work, 2, by_madvise);
	await_preload(work, 3);
	map = mmap(NULL, (size_t)work->file.size, PROT_READ, MAP_SHARED, work->file.fd, 0);
	if (map == MAP_FAILED || madvise((void *)map, (size_t)work->file.size, MADV_RANDOM) < 0)
		broken("mmap");
	for (size_t page = 0; page < work->pages; page++) {
		(void)map[page * PAGE];
		file_touched(&work->file, work->truth, page, true);
	}
	munmap((void *)map, (size_t)work->file.size);
}

static void
append(struct work *work, off_t end)
{
	if (pwrite(work->file.fd, buffer, 1000, end) != 1000)
		broken("append");
	for (off_t at = end; at < end + 1000; at += 999)
		work->file.cached[at / (off_t)PAGE] = 1;
}

/* The file's end lies inside each request, and has moved since the one before. */
static void
growing(struct work *work)
{
	for (off_t at = work->file.size; at < 2 * work->file.size; at += 1000) {
		append(work, at);
		read_at(work, &work->file, 65536, at - 5000);
	}
}

/* Another process appends while we read up to the end, again and again. */
static void
growing_meanwhile(struct work *work)
{
	off_t at = work->file.size, most = 2 * work->file.size;
	pid_t child = fork();

	if (child == 0) {
		for (off_t end = at; end < most; end += 1000)
			append(work, end);
		_exit(0);
	}
	for (size_t page = work->pages; page < 2 * work->pages + 1; page++)
		work->file.cached[page] = 1;
	while (at < most)
		at += read_at(work, &work->file, 65536, at);
	waitpid(child, NULL, 0);
}

/* Of a file that has been cut. Readahead that was going on then may have put pages behind the
 * new end: it asks for the size before it waits for its turn. */
static void
rewrite(struct work *work)
{
	file_overwritten(&work->file);
	for (size_t page = 0; page < work->pages; page++)
		if (pwrite(work->file.fd, buffer, PAGE, (off_t)(page * PAGE)) < 0)
			broken("write");
}

/* What readahead brought in is gone before anybody reads it, and is then written anew: to be
 * read again and again, each time from elsewhere, by one who has seen nothing in between. */
static void
written_where_unread(struct work *work)
{
	for (size_t page = 1; page < 9; page++) {
		read_at(work, &work->file, PAGE, 0);
		if (ftruncate(work->file.fd, (off_t)PAGE) < 0)
			broken("ftruncate");
		rewrite(work);
		read_at(work, &work->file, PAGE, (off_t)(page * PAGE));
		read_sequential(work, 32 * PAGE);
		file_set(&work->file, COLD);
		for (size_t i = 0; i < work->pages; i++)
			work->file.cached[i] = 0;
	}
}

/* Sends the file to a socket that nobody reads from, and tells how much went. What it reads then
 * from elsewhere says nothing of that. */
static _Noreturn void
send_and_tell(struct work *work, int socket, volatile ssize_t *told)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	off_t at = 0;

	signal(SIGPIPE, SIG_IGN);
	*told = sendfile(socket, work->file.fd, &at, 100 << 20);
	_exit(read(zero, buffer, BUFFER) != BUFFER);
}

/* A sendfile stands while its file is truncated; returns how much it sent. */
static ssize_t
truncate_under_sendfile(struct work *work)
{
	ssize_t *told = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2], status;
	struct pollfd ready = { .events = POLLIN };
	ssize_t sent;
	pid_t child;

	if (told == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		broken("socketpair");
	ready.fd = ends[1];
	child = fork();
	if (child == 0) {
		close(ends[1]);
		send_and_tell(work, ends[0], told);
	}
	close(ends[0]);
	/* until it stands, with all sent that there is room for */
	if (poll(&ready, 1, 10000) != 1)
		broken("sendfile");
	usleep(20000);
	if (ftruncate(work->file.fd, 0) < 0)
		broken("ftruncate");
	if (work->load->flags & LOOKED_AT) /* long enough for that */
		usleep(50000);
	close(ends[1]);
	if (waitpid(child, &status, 0) < 0 || status != 0)
		broken("the sender has failed");
	sent = *told;
	munmap(told, PAGE);
	return sent;
}

/* What is written anew then, and read, was never brought in by a read. */
static void
truncated_under_sendfile(struct work *work)
{
	for (int round = 0; round < 10; round++) {
		file_accessed(&work->file, work->truth, 0, truncate_under_sendfile(work));
		/* the piece that stood was read from the file, but not sent */
		work->truth->unsure += PIECE;
		rewrite(work);
		read_sequential(work, PAGE);
		file_set(&work->file, COLD);
		for (size_t page = 0; page < work->pages; page++)
			work->file.cached[page] = 0;
	}
}

/* One pass over a cold file, which a child cuts to half its size at some moment: no page is read
 * twice, and what readahead brought in of the rest is never read. */
static void
truncated_under_reads(struct work *work)
{
	for (unsigned round = 0; round < 10; round++) {
		pid_t child = fork();

		if (child == 0) {
			usleep(round * 500);
			_exit(ftruncate(work->file.fd, work->file.size / 2) < 0);
		}
		read_sequential(work, CALL * PAGE);
		/* the one read that was going on then */
		work->truth->unsure += CALL;
		waitpid(child, NULL, 0);
		rewrite(work);
		file_set(&work->file, COLD);
		for (size_t page = 0; page < work->pages; page++)
			work->file.cached[page] = 0;
	}
}

const struct workload written_cases[] = {
	CASE("write then read", EXACT | DIRTIES, COLD, NULL, write_then_read),
	CASE("written where readahead was cut off", EXACT, COLD, NULL, written_where_unread),
	CASE("preload then read", EXACT, COLD, NULL, preload_then_read),
	CASE("preload by io_uring then read", EXACT, COLD, NULL, preload_by_uring_then_read),
	CASE("small files, written and read", EXACT, COLD, NULL, write_small_then_read),
	CASE("preload then touch", EXACT | FAULT_MISSES, COLD, NULL, preload_then_touch),
	CASE("a file that grows between reads", EXACT | STALLS, WARM, NULL, growing),
	CASE("a file that grows while it is read", EXACT | MOST, WARM, NULL, growing_meanwhile),
	CASE("truncated under a sendfile", EXACT | STANDING, COLD, NULL, truncated_under_sendfile),
	CASE_WITH(LOOKED_AT, "looked at meanwhile, truncated under a sendfile", EXACT | STANDING,
	    COLD, NULL, truncated_under_sendfile),
	CASE("truncated under reads", EXACT | WHOLE_CALLS, COLD, NULL, truncated_under_reads),
	{ 0 },
};
