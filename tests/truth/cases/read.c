/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that read: where they begin and end, and what may cut them short. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

#define NOWAIT 8 /* RWF_NOWAIT; musl 1.2.3 does not know it */

void
read_sequential(struct work *work, size_t size)
{
	for (off_t at = 0; at < work->file.size; at += (off_t)size)
		read_at(work, &work->file, size, at);
}

static void
sequential_4k(struct work *work)
{
	read_sequential(work, PAGE);
}

static void
sequential_1m(struct work *work)
{
	read_sequential(work, BUFFER);
}

/* read(2): the position is the file's own. */
static void
to_the_end(struct work *work)
{
	off_t at = lseek(work->file.fd, 0, SEEK_SET);
	ssize_t n;

	while ((n = read(work->file.fd, buffer, 100000)) > 0) {
		file_accessed(&work->file, work->truth, at, n);
		at += n;
	}
}

void
read_random_4k(struct work *work)
{
	for (int i = 0; i < 2000; i++)
		read_at(work, &work->file, PAGE, (off_t)draw((uint32_t)work->pages) * (off_t)PAGE);
}

/* Nothing of the file is in memory but PAGE of each so many, which was written. */
static void
leave_of_each(struct work *work, size_t each, size_t page)
{
	file_set(&work->file, COLD);
	for (size_t i = 0; i < work->pages; i++) {
		work->file.cached[i] = i % each == page;
		if (work->file.cached[i] &&
		    pwrite(work->file.fd, buffer, PAGE, (off_t)(i * PAGE)) < 0)
			broken("write");
	}
}

/* Calls that find a page at once, and then none. */
static void
first_found(struct work *work)
{
	for (int round = 0; round < 10; round++) {
		leave_of_each(work, BUFFER / PAGE, 0);
		read_sequential(work, BUFFER);
	}
}

/* Leaves nothing in memory but LENGTH bytes from OFFSET, and takes the truth from that. What
 * readahead has just brought in may be in use for a moment more; it would be no hit. */
static void
leave_but(struct work *work, off_t offset, off_t length)
{
	size_t first = (size_t)offset / PAGE, end = (size_t)(offset + length) / PAGE, others;
	int tries = 0;

	do {
		if (tries++ > 0)
			usleep(1000);
		posix_fadvise(work->file.fd, 0, offset, POSIX_FADV_DONTNEED);
		posix_fadvise(work->file.fd, offset + length, 0, POSIX_FADV_DONTNEED);
		file_holds(&work->file);
		others = 0;
		for (size_t i = 0; i < work->pages; i++)
			others += work->file.before[i] && (i < first || i >= end);
	} while (others && tries < 1000);
	if (others)
		broken("fadvise");
}

/* The same call twice: the first finds two pages and is cut short behind them by its buffer,
 * the second finds but its last, which were in memory all the time. */
static void
same_again(struct work *work)
{
	off_t stays = 200 * (off_t)PAGE;
	char *small = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);

	if (small == MAP_FAILED || mprotect(small + 2 * PAGE, BUFFER - 2 * PAGE, PROT_NONE) < 0)
		broken("mmap");
	for (int round = 0; round < 20; round++) {
		file_set(&work->file, COLD);
		if (pwrite(work->file.fd, buffer, 2 * PAGE, 0) < 0 ||
		    pwrite(work->file.fd, buffer, BUFFER - (size_t)stays, stays) < 0)
			broken("write");
		file_holds(&work->file);
		file_accessed(&work->file, work->truth, 0, pread(work->file.fd, small, BUFFER, 0));
		fsync(work->file.fd);
		leave_but(work, stays, BUFFER - stays);
		read_at(work, &work->file, BUFFER, 0);
	}
	munmap(small, BUFFER);
}

/* A few bytes to a few pages, from anywhere to anywhere, also beyond the end. */
static void
unaligned(struct work *work)
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
			skip(work, "the file system has no RWF_NOWAIT");
		if (n < 0 && errno == EAGAIN)
			continue;
		file_accessed(&work->file, work->truth, at, n);
		if (n < (ssize_t)part.iov_len && at + n < work->file.size)
			work->truth->unsure += part.iov_len / PAGE + 1;
	}
}

static void
send_unaligned(struct work *work)
{
	for (int i = 0; i < 200; i++) {
		off_t from = (off_t)draw((uint32_t)work->file.size - 300000);

		send_to_nowhere(work, from, 1 + draw(200000));
	}
}

/* From anywhere, and more than the pipe has room for. */
static void
splice_unaligned(struct work *work)
{
	off_t offsets[100];

	for (int i = 0; i < 100; i++)
		offsets[i] = (off_t)draw((uint32_t)work->file.size - 30 * (uint32_t)PAGE);
	way_splice(work, &(struct job){ offsets, 100, .size = 20 * PAGE + 100 });
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
		skip(work, "the file system has no O_DIRECT");
	/* btrfs reads through the page cache where the buffer is not in memory */
	memset(aligned, 0, 16 * PAGE);
	for (off_t at = 0; at < work->file.size; at += 16 * (off_t)PAGE)
		if (pread(fd, aligned, 16 * PAGE, at) < 0)
			broken("O_DIRECT");
	free(aligned);
	close(fd);
}

/* Reads of the device below are no accesses of files. */
static void
block_device(struct work *work)
{
	char path[4096];
	struct stat status;
	int fd;

	snprintf(path, sizeof path, "%.4000s.device", work->file.path);
	if (fstat(work->file.fd, &status) < 0 || mknod(path, S_IFBLK | 0600, status.st_dev) < 0)
		broken(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (fd < 0)
		return; /* the file system has more than one, or none of its own */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (off_t at = 0; at < work->file.size; at += BUFFER)
		if (pread(fd, buffer, BUFFER, at) < 0)
			broken("the device");
	close(fd);
}

/* Memory is no cache of anything: neither reads nor touches of tmpfs count. */
static void
memory_file(struct work *work)
{
	size_t length = 256 * PAGE;
	int fd = memfd_create("truth", MFD_CLOEXEC);
	volatile char *map;

	if (fd < 0 || ftruncate(fd, (off_t)length) < 0)
		skip(work, "the kernel has no memfd");
	for (size_t at = 0; at < length; at += 2 * PAGE)
		if (pwrite(fd, "x", 1, (off_t)at) != 1)
			broken("memfd");
	for (size_t at = 0; at < length; at += BUFFER)
		if (pread(fd, buffer, BUFFER, (off_t)at) < 0)
			broken("memfd");
	map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		broken("mmap");
	for (size_t at = 0; at < length; at += PAGE)
		(void)map[at];
	munmap((void *)map, length);
	close(fd);
}

const struct workload read_cases[] = {
	CASE("cold 4k sequential", EXACT | FILLS, COLD, NULL, sequential_4k),
	CASE("warm 4k sequential", EXACT | FILLS | STALLS, WARM, NULL, sequential_4k),
	CASE("every 4th page, 4k sequential", EXACT | FILLS, EVERY_4TH, NULL, sequential_4k),
	CASE("every 4th page, 1m sequential", EXACT | FILLS, EVERY_4TH, NULL, sequential_1m),
	CASE("cold read to the end", EXACT | FILLS, COLD, NULL, to_the_end),
	CASE("cold unaligned random", EXACT, COLD, NULL, unaligned),
	CASE("warm unaligned random", EXACT | STALLS, WARM, NULL, unaligned),
	CASE("the same call again", EXACT, COLD, NULL, same_again),
	CASE("cold overlapping", EXACT | FILLS, COLD, NULL, overlapping),
	CASE("cold readv and preadv", EXACT, COLD, NULL, vectors),
	CASE("warm, cut short by a bad buffer", EXACT | STALLS, WARM, NULL, cut_short),
	CASE("cold, cut short by a bad buffer", EXACT | MOST, COLD, NULL, cut_short),
	CASE("half, RWF_NOWAIT", EXACT | WHOLE_CALLS, MIXED, NULL, without_waiting),
	CASE("cold sendfile unaligned", EXACT | PIECES, COLD, NULL, send_unaligned),
	CASE("half sendfile unaligned", EXACT | PIECES, MIXED, NULL, send_unaligned),
	CASE("warm sendfile unaligned", EXACT | STALLS | PIECES, WARM, NULL, send_unaligned),
	CASE("cold splice unaligned", EXACT | UNSEEN_CALLS, COLD, NULL, splice_unaligned),
	CASE("half splice unaligned", EXACT | UNSEEN_CALLS, MIXED, NULL, splice_unaligned),
	CASE("warm splice unaligned", EXACT | STALLS, WARM, NULL, splice_unaligned),
	CASE("small files, large buffers", EXACT, COLD, make_small_files, small_files),
	CASE("a hole", EXACT | FILLS, COLD, sparse, sequential_1m),
	CASE("readahead overshoot", EXACT | FILLS, COLD, NULL, overshoot),
	CASE("O_DIRECT", EXACT, COLD, NULL, direct),
	CASE("a block device", EXACT | FILLS, COLD, NULL, block_device),
	CASE("tmpfs", EXACT | FILLS | FAULTS, COLD, NULL, memory_file),
	CASE_WITH(LOOKED_AT, "looked at meanwhile, cold 4k random", EXACT, COLD, NULL,
	    read_random_4k),
	CASE_WITH(LOOKED_AT, "looked at meanwhile, cold 1m sequential", EXACT | FILLS, COLD, NULL,
	    sequential_1m),
	CASE_WITH(LOOKED_AT, "looked at meanwhile, 1m of which the first is found", EXACT, COLD,
	    NULL, first_found),
	CASE_WITH(LOOKED_AT, "looked at meanwhile, half unaligned", EXACT, MIXED, NULL, unaligned),
	{ 0 },
};
