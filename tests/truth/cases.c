/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 8
#define BUFFER  (1 << 20)
#define NOWAIT  8 /* RWF_NOWAIT; musl 1.2.3 does not know it */

static char buffer[BUFFER];

/* One pread, counted. */
static ssize_t
read_at(struct work *work, struct file *file, size_t size, off_t offset)
{
	ssize_t n = pread(file->fd, buffer, size, offset);

	file_accessed(file, work->truth, offset, n);
	return n;
}

static void
sequential(struct work *work, size_t size)
{
	for (off_t at = 0; at < work->file.size; at += (off_t)size)
		read_at(work, &work->file, size, at);
}

static void
sequential_4k(struct work *work)
{
	sequential(work, PAGE);
}

static void
sequential_128k(struct work *work)
{
	sequential(work, 32 * PAGE);
}

static void
sequential_1m(struct work *work)
{
	sequential(work, BUFFER);
}

/* read(2): the position is the file's own. */
static void
sequential_read(struct work *work)
{
	off_t at = lseek(work->file.fd, 0, SEEK_SET);
	ssize_t n;

	while ((n = read(work->file.fd, buffer, 100000)) > 0) {
		file_accessed(&work->file, work->truth, at, n);
		at += n;
	}
}

static void
without_readahead(struct work *work)
{
	if (posix_fadvise(work->file.fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken("fadvise");
}

static void
random_4k(struct work *work)
{
	for (int i = 0; i < 2000; i++)
		read_at(work, &work->file, PAGE, (off_t)draw((uint32_t)work->pages) * (off_t)PAGE);
}

/* A few bytes to a few pages, from anywhere to anywhere, also beyond the end. */
static void
random_unaligned(struct work *work)
{
	for (int i = 0; i < 2000; i++)
		read_at(work, &work->file, 1 + draw(20000), (off_t)draw((uint32_t)work->file.size));
}

static void
overlapping(struct work *work)
{
	for (off_t at = 0; at < work->file.size; at += 3 * (off_t)PAGE + 100)
		read_at(work, &work->file, 10 * PAGE, at);
}

/* The end of the file lies inside every request. */
static void
small_files(struct work *work)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < work->other_count; i++) {
		struct file *file = &work->others[i];
		off_t at = lseek(file->fd, 0, SEEK_SET);
		ssize_t n;

		while ((n = read(file->fd, buffer, i % 2 ? BUFFER : 65536)) > 0) {
			file_accessed(file, work->truth, at, n);
			at += n;
			/* what else the task is given then says nothing of the file */
			if (i % 3 == 0 && read(zero, buffer, 65536) != 65536)
				broken("/dev/zero");
		}
	}
	close(zero);
}

static struct file *
add_others(struct work *work, size_t count)
{
	work->others = calloc(count, sizeof *work->others);
	if (!work->others)
		broken("memory");
	work->other_count = count;
	return work->others;
}

static void
make_small_files(struct work *work)
{
	static const off_t sizes[] = { 1, 6, 4095, 4096, 4097, 9000, 65535, 65536, 65537 };
	size_t kinds = sizeof sizes / sizeof *sizes, count = 10 * kinds;
	struct file *files = add_others(work, count);
	char path[4096];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%.4000s.%zu", work->file.path, i);
		file_make(&files[i], path, sizes[i % kinds]);
		file_set(&files[i], i / kinds % 2 ? WARM : COLD);
	}
}

static void
vectors(struct work *work)
{
	struct iovec parts[3] = { { buffer, 100 }, { buffer + 5000, 9000 },
		{ buffer + 20000, 3 * PAGE } };
	size_t length = 100 + 9000 + 3 * PAGE;
	off_t at = lseek(work->file.fd, 0, SEEK_SET);
	ssize_t n;

	for (int i = 0; i < 100; i++) {
		off_t random = (off_t)draw((uint32_t)work->file.size);

		n = preadv(work->file.fd, parts, 3, random);
		file_accessed(&work->file, work->truth, random, n);
		if ((n = readv(work->file.fd, parts, 3)) > 0)
			file_accessed(&work->file, work->truth, at, n);
		at += n;
	}
	if (at != (off_t)(100 * length))
		broken("readv");
}

/* The buffer ends in the middle of the request: the call is cut short. */
static void
cut_short(struct work *work)
{
	char *small = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);
	ssize_t n;

	if (small == MAP_FAILED || mprotect(small + 2 * PAGE, 14 * PAGE, PROT_NONE) < 0)
		broken("mmap");
	for (off_t at = 0; at < work->file.size; at += 20 * (off_t)PAGE) {
		n = pread(work->file.fd, small, 16 * PAGE, at);
		file_accessed(&work->file, work->truth, at, n);
		if (n != 2 * (ssize_t)PAGE)
			broken("pread of a bad buffer");
		/* nothing at all */
		if (pread(work->file.fd, small + 2 * PAGE, PAGE, at + 5 * (off_t)PAGE) >= 0)
			broken("pread of a bad buffer");
	}
}

/* Returns what is there at once, and asks for the rest. */
static void
without_waiting(struct work *work)
{
	struct iovec part = { buffer, 25 * PAGE };

	for (int i = 0; i < 1000; i++) {
		off_t at = (off_t)draw((uint32_t)work->file.size);
		ssize_t n = syscall(SYS_preadv2, work->file.fd, &part, 1, at, 0, NOWAIT);

		if (n < 0 && errno == EOPNOTSUPP)
			_exit(SKIPPED);
		if (n < 0 && errno == EAGAIN)
			continue;
		file_accessed(&work->file, work->truth, at, n);
		if (n < (ssize_t)part.iov_len && at + n < work->file.size)
			work->truth->unsure += part.iov_len / PAGE + 1;
	}
}

static void
to_nowhere(struct work *work, off_t from, size_t length)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	off_t at = from;
	ssize_t n;

	while (length && (n = sendfile(null, work->file.fd, &at, length)) != 0) {
		file_accessed(&work->file, work->truth, at - n, n);
		length -= (size_t)n;
	}
	close(null);
}

static void
sendfile_whole(struct work *work)
{
	to_nowhere(work, 0, (size_t)work->file.size);
}

static void
sendfile_unaligned(struct work *work)
{
	for (int i = 0; i < 200; i++) {
		off_t from = (off_t)draw((uint32_t)work->file.size - 300000);

		to_nowhere(work, from, 1 + draw(200000));
	}
}

static void
splice_through_pipe(struct work *work)
{
	int ends[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	loff_t at = 0;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		broken("pipe");
	while ((n = splice(work->file.fd, &at, ends[1], NULL, 100000, 0)) > 0) {
		file_accessed(&work->file, work->truth, at - n, n);
		while (n > 0)
			n -= splice(ends[0], NULL, null, NULL, (size_t)n, 0);
	}
	close(null);
}

static void
uring(struct work *work, size_t size, bool async)
{
	off_t offsets[1000];

	for (int i = 0; i < 1000; i++)
		offsets[i] = (off_t)draw((uint32_t)(work->file.size / (off_t)size)) * (off_t)size;
	if (!uring_read(work,
		&(struct uring_job){ offsets, 1000, size, .depth = 32, .async = async }))
		_exit(SKIPPED);
}

static void
uring_4k(struct work *work)
{
	uring(work, PAGE, false);
}

static void
uring_async(struct work *work)
{
	uring(work, PAGE, true);
}

static void
uring_100k(struct work *work)
{
	uring(work, 25 * PAGE, false);
}

/* Reads half-cold pages while a child overwrites cached ones, there and elsewhere. */
static void
beside_writer(struct work *work)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;) {
			off_t at = (off_t)draw((uint32_t)work->pages) * (off_t)PAGE;

			if (pwrite(work->others[0].fd, "y", 1, at) < 0 ||
			    (at < work->file.size / 2 && pwrite(work->file.fd, "y", 1, at) < 0))
				_exit(1);
		}
	}
	random_4k(work);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void
other_warm(struct work *work)
{
	struct file *other = add_others(work, 1);
	char path[4096];

	snprintf(path, sizeof path, "%.4000s.other", work->file.path);
	file_make(other, path, (off_t)(work->pages * PAGE));
	file_set(other, WARM);
}

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
	}
	sequential_128k(work);
}

/* The preload did its job: the first access is a hit. */
static void
preload_then_read(struct work *work)
{
	off_t quarter = work->file.size / 4;
	void *map;

	for (off_t at = 0; at < quarter; at += 32 * (off_t)PAGE)
		if (posix_fadvise(work->file.fd, at, 32 * (off_t)PAGE, POSIX_FADV_WILLNEED) != 0)
			broken("fadvise");
	for (off_t at = quarter; at < 2 * quarter; at += 32 * (off_t)PAGE)
		if (readahead(work->file.fd, at, 32 * PAGE) < 0)
			broken("readahead");
	map = mmap(NULL, (size_t)quarter, PROT_READ, MAP_SHARED, work->file.fd, 2 * quarter);
	if (map == MAP_FAILED)
		broken("mmap");
	for (off_t at = 0; at < quarter; at += 32 * (off_t)PAGE)
		if (madvise((char *)map + at, 32 * PAGE, MADV_WILLNEED) < 0)
			broken("madvise");
	munmap(map, (size_t)quarter);
	/* mincore needs a moment until all of it has come; asks nothing of the disk */
	for (int i = 0; i < 100; i++) {
		file_holds(&work->file);
		if (!memchr((void *)work->file.cached, 0, 3 * work->pages / 4))
			break;
		usleep(10000);
	}
	sequential_128k(work);
}

/* A child dies in the middle of a read; we read what is left and all again. */
static void
killed_reader(struct work *work)
{
	pid_t child = fork();

	if (child == 0) {
		for (off_t at = 0;; at = (at + BUFFER) % work->file.size)
			if (pread(work->file.fd, buffer, BUFFER, at) < 0)
				_exit(1);
	}
	usleep(2000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	sequential_128k(work);
}

static void
few_preads(struct work *work)
{
	for (int i = 0; i < 8; i++)
		read_at(work, &work->file, 3 * PAGE, (off_t)draw((uint32_t)work->file.size));
}

/* io_uring goes on with its requests as the task returns from another call. */
static void
uring_beside_pread(struct work *work)
{
	off_t offsets[640];

	for (int i = 0; i < 640; i++)
		offsets[i] = (off_t)draw((uint32_t)work->pages - 8) * (off_t)PAGE;
	if (!uring_read(work,
		&(struct uring_job){ offsets, 640, 8 * PAGE, .depth = 32,
		    .meanwhile = few_preads }))
		_exit(SKIPPED);
}

/* A sendfile stands while its file is truncated and written anew: what is read of it then
 * was never brought in by a read. */
static void
truncated_under_sendfile(struct work *work)
{
	for (int round = 0; round < 10; round++) {
		int ends[2], told[2];
		off_t at = 0;
		ssize_t sent;
		pid_t child;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || pipe(told) < 0)
			broken("socketpair");
		child = fork();
		if (child == 0) {
			close(ends[1]);
			signal(SIGPIPE, SIG_IGN);
			sent = sendfile(ends[0], work->file.fd, &at, 100 << 20);
			_exit(write(told[1], &sent, sizeof sent) < 0);
		}
		close(ends[0]);
		usleep(50000);
		if (ftruncate(work->file.fd, 0) < 0)
			broken("ftruncate");
		close(ends[1]);
		if (read(told[0], &sent, sizeof sent) != sizeof sent)
			broken("pipe");
		waitpid(child, NULL, 0);
		file_accessed(&work->file, work->truth, 0, sent);
		for (size_t page = 0; page < work->pages; page++) {
			if (pwrite(work->file.fd, buffer, PAGE, (off_t)(page * PAGE)) < 0)
				broken("write");
			work->file.cached[page] = 1;
		}
		sequential_4k(work);
		file_set(&work->file, COLD);
		for (size_t page = 0; page < work->pages; page++)
			work->file.cached[page] = 0;
		close(told[0]);
		close(told[1]);
	}
}

/* The position of a descriptor is shared. */
static void
shared_descriptor(struct work *work)
{
	enum { READERS = 64 };

	if (lseek(work->file.fd, 0, SEEK_SET) < 0)
		broken("lseek");
	for (int i = 0; i < READERS; i++) {
		if (fork() == 0) {
			ssize_t n;

			/* where a read began is not known here, but all are of whole pages */
			while ((n = read(work->file.fd, buffer, 4 * PAGE)) > 0)
				atomic_fetch_add(&work->truth->accesses, (unsigned)n / PAGE);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (size_t page = 0; page < work->pages; page++)
		work->truth->misses += !atomic_exchange(&work->file.cached[page], 1);
}

/* Two processes first touch the same pages at the same time. */
static void
two_readers(struct work *work)
{
	pid_t child = fork();

	sequential_128k(work);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
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

static void
sparse(struct work *work)
{
	if (ftruncate(work->file.fd, 0) < 0 || ftruncate(work->file.fd, work->file.size) < 0)
		broken("ftruncate");
	file_set(&work->file, COLD);
}

/* Readahead brings more than is read. */
static void
overshoot(struct work *work)
{
	for (off_t at = 0; at < work->file.size; at += work->file.size / 4)
		for (int i = 0; i < 8; i++)
			read_at(work, &work->file, 4 * PAGE, at + i * 4 * (off_t)PAGE);
}

static void
direct(struct work *work)
{
	int fd = open(work->file.path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *aligned;

	if (fd < 0 || posix_memalign(&aligned, PAGE, 16 * PAGE) != 0)
		_exit(SKIPPED);
	/* btrfs reads through the page cache where the buffer is not in memory */
	memset(aligned, 0, 16 * PAGE);
	for (off_t at = 0; at < work->file.size; at += 16 * (off_t)PAGE)
		if (pread(fd, aligned, 16 * PAGE, at) < 0)
			broken("O_DIRECT");
	free(aligned);
	close(fd);
}

/* One fault a page, without readahead: each brings in its own page. */
static void
mapped_random(struct work *work)
{
	size_t length = (size_t)work->file.size;
	volatile char *map = mmap(NULL, length, PROT_READ, MAP_SHARED, work->file.fd, 0);

	if (map == MAP_FAILED || madvise((void *)map, length, MADV_RANDOM) < 0)
		broken("mmap");
	for (size_t page = 0; page < work->pages; page++) {
		(void)map[page * PAGE];
		work->truth->misses++;
	}
	munmap((void *)map, length);
}

const struct workload workloads[] = {
	{ "cold 4k sequential", EXACT, COLD, NULL, sequential_4k },
	{ "cold 128k sequential", EXACT, COLD, NULL, sequential_128k },
	{ "cold 1m sequential", EXACT, COLD, NULL, sequential_1m },
	{ "cold 1m sequential, order-0 folios", EXACT, COLD, without_readahead, sequential_1m },
	{ "cold read to the end", EXACT, COLD, NULL, sequential_read },
	{ "cold 4k random", EXACT, COLD, NULL, random_4k },
	{ "cold 4k random, no readahead", EXACT, COLD, without_readahead, random_4k },
	{ "cold unaligned random", EXACT, COLD, NULL, random_unaligned },
	{ "cold overlapping", EXACT, COLD, NULL, overlapping },
	{ "cold readv and preadv", EXACT, COLD, NULL, vectors },
	{ "warm, cut short by a bad buffer", EXACT, WARM, NULL, cut_short },
	{ "cold, cut short by a bad buffer", MOST, COLD, NULL, cut_short },
	{ "half, RWF_NOWAIT", WHOLE_CALLS, MIXED, NULL, without_waiting },
	{ "cold sendfile", EXACT, COLD, NULL, sendfile_whole },
	{ "cold sendfile unaligned", EXACT, COLD, NULL, sendfile_unaligned },
	{ "cold splice", MOST, COLD, NULL, splice_through_pipe },
	{ "cold io_uring 4k random", EXACT, COLD, NULL, uring_4k },
	{ "cold io_uring 4k random, async", EXACT, COLD, NULL, uring_async },
	{ "cold io_uring 100k random", EXACT, COLD, NULL, uring_100k },
	{ "half 4k random", EXACT, MIXED, NULL, random_4k },
	{ "half 128k sequential", EXACT, HALF, NULL, sequential_128k },
	{ "half io_uring 100k random", EXACT, MIXED, NULL, uring_100k },
	{ "half sendfile unaligned", EXACT, MIXED, NULL, sendfile_unaligned },
	{ "every 4th page, 4k sequential", EXACT, EVERY_4TH, NULL, sequential_4k },
	{ "every 4th page, 1m sequential", EXACT, EVERY_4TH, NULL, sequential_1m },
	{ "half, beside a writer", EXACT, HALF, other_warm, beside_writer },
	{ "warm 4k sequential", EXACT, WARM, NULL, sequential_4k },
	{ "warm 1m sequential", EXACT, WARM, NULL, sequential_1m },
	{ "warm unaligned random", EXACT, WARM, NULL, random_unaligned },
	{ "warm sendfile unaligned", EXACT, WARM, NULL, sendfile_unaligned },
	{ "warm splice", EXACT, WARM, NULL, splice_through_pipe },
	{ "warm io_uring 100k random", EXACT, WARM, NULL, uring_100k },
	{ "small files, large buffers", EXACT, COLD, make_small_files, small_files },
	{ "write then read", EXACT, COLD, NULL, write_then_read },
	{ "preload then read", EXACT, COLD, NULL, preload_then_read },
	{ "a reader killed in mid-read", MISSES, COLD, NULL, killed_reader },
	{ "two readers of the same cold pages", EXACT, COLD, NULL, two_readers },
	{ "64 readers of one descriptor", EXACT, MIXED, NULL, shared_descriptor },
	{ "io_uring beside pread", EXACT, MIXED, NULL, uring_beside_pread },
	{ "truncated under a sendfile", EXACT, COLD, NULL, truncated_under_sendfile },
	{ "a file that grows between reads", EXACT, WARM, NULL, growing },
	{ "a file that grows while it is read", MISSES | MOST, WARM, NULL, growing_meanwhile },
	{ "a hole", EXACT, COLD, sparse, sequential_128k },
	{ "readahead overshoot", EXACT, COLD, NULL, overshoot },
	{ "O_DIRECT", EXACT, COLD, NULL, direct },
	{ "mapped, MADV_RANDOM", FAULT_MISSES, COLD, NULL, mapped_random },
	{ 0 },
};
