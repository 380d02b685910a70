/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHUNK (128U << 10) /* bytes of one read */
#define TRIES 20           /* times DELAY: until pages have gone or come */
#define DELAY 50000U

static char buffer[CHUNK];

/* What mincore sees now: a byte a page, 1 where it is in memory. */
static int
look(const struct workload_file *file, unsigned char *pages)
{
	void *map = mmap(NULL, WORKLOAD_BYTES, PROT_READ, MAP_SHARED, file->fd, 0);
	int result;

	if (map == MAP_FAILED)
		return -1;
	result = mincore(map, WORKLOAD_BYTES, pages);
	munmap(map, WORKLOAD_BYTES);
	for (size_t i = 0; i < file->pages; i++)
		pages[i] &= 1;
	return result;
}

/* Books the state as it is. Returns how many pages are in memory. */
static int
take_state(struct workload_file *file)
{
	int cached = 0;

	if (look(file, file->book->cached) < 0)
		return -1;
	for (size_t i = 0; i < file->pages; i++)
		cached += file->book->cached[i];
	file->book->hits = file->book->misses = 0;
	file->book->error = 0;
	return cached;
}

static void
accessed(struct workload_file *file, off_t offset, ssize_t length)
{
	size_t page = (size_t)offset / file->page;

	for (; length > 0 && page <= (size_t)(offset + length - 1) / file->page; page++) {
		unsigned char *cached = &file->book->cached[page];

		file->book->hits += *cached;
		file->book->misses += !*cached;
		*cached = 1;
	}
}

static int
read_at(struct workload_file *file, off_t offset, size_t length)
{
	ssize_t n = pread(file->fd, buffer, length, offset);

	accessed(file, offset, n);
	if (n == 0)
		errno = EIO; /* all of them begin within the file */
	return n > 0 ? 0 : -1;
}

/* The first BYTES of it. */
static int
read_through(struct workload_file *file, off_t bytes)
{
	int result = 0;

	for (off_t at = 0; at < bytes && result == 0; at += CHUNK)
		result = read_at(file, at, CHUNK);
	return result;
}

static int
cold(struct workload_file *file)
{
	if (fsync(file->fd) < 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		int cached;

		posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
		cached = take_state(file);
		if (cached <= 0)
			return cached;
		usleep(DELAY);
	}
	errno = EBUSY;
	return -1;
}

static int
warm(struct workload_file *file)
{
	if (cold(file) < 0 || read_through(file, WORKLOAD_BYTES) < 0)
		return -1;
	return take_state(file) < 0 ? -1 : 0;
}

/* Nothing is read ahead into the other half. */
static int
half(struct workload_file *file)
{
	if (cold(file) < 0)
		return -1;
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
	if (read_through(file, WORKLOAD_BYTES / 2) < 0)
		return -1;
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_NORMAL);
	return take_state(file) < 0 ? -1 : 0;
}

static int
preloaded(struct workload_file *file)
{
	if (cold(file) < 0)
		return -1;
	for (off_t at = 0; at < WORKLOAD_BYTES / 2; at += CHUNK)
		posix_fadvise(file->fd, at, CHUNK, POSIX_FADV_WILLNEED);
	/* they come by themselves; where they do not, the book says so */
	for (int i = 0; i < TRIES; i++) {
		int cached = take_state(file);

		if (cached < 0 || (size_t)cached >= file->pages / 2)
			return cached < 0 ? -1 : 0;
		usleep(DELAY);
	}
	return 0;
}

static int
sequential(struct workload_file *file)
{
	return read_through(file, WORKLOAD_BYTES);
}

/* Pseudo-random, the same in each run. */
static uint32_t
draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*state * below >> 32);
}

static int
single_pages(struct workload_file *file)
{
	uint32_t state = 1;
	int result = 0;

	for (size_t i = 0; i < file->pages && result == 0; i++)
		result = read_at(file, (off_t)(draw(&state, (uint32_t)file->pages) * file->page),
		    file->page);
	return result;
}

/* From a byte to a few pages, from anywhere to anywhere, also beyond the end. */
static int
unaligned(struct workload_file *file)
{
	uint32_t state = 2;
	int result = 0;

	for (size_t i = 0; i < file->pages / 2 && result == 0; i++)
		result = read_at(file, (off_t)draw(&state, WORKLOAD_BYTES),
		    1 + draw(&state, CHUNK / 6));
	return result;
}

static int
sent(struct workload_file *file)
{
	off_t at = 0;
	ssize_t n;

	while ((n = sendfile(file->null, file->fd, &at, CHUNK)) > 0)
		accessed(file, at - n, n);
	if (n == 0 && at < WORKLOAD_BYTES)
		errno = EIO;
	return n == 0 && at == WORKLOAD_BYTES ? 0 : -1;
}

/* Without readahead, each page that is touched takes a fault. */
static int
touched(struct workload_file *file)
{
	volatile char *map = mmap(NULL, WORKLOAD_BYTES, PROT_READ, MAP_SHARED, file->fd, 0);

	if (map == MAP_FAILED || madvise((void *)map, WORKLOAD_BYTES, MADV_RANDOM) < 0)
		return -1;
	for (size_t page = 0; page < file->pages; page++) {
		(void)map[page * file->page];
		accessed(file, (off_t)(page * file->page), 1);
	}
	return munmap((void *)map, WORKLOAD_BYTES);
}

/* What a write put into memory is there when it is read. */
static int
written(struct workload_file *file)
{
	for (size_t page = 0; page < file->pages; page += 3)
		if (pwrite(file->fd, buffer, file->page, (off_t)(page * file->page)) < 0)
			return -1;
	if (take_state(file) < 0)
		return -1;
	return read_through(file, WORKLOAD_BYTES);
}

const struct workload workloads[] = {
	{ "cold, in order", false, cold, sequential },
	{ "cold, page by page at random", false, cold, single_pages },
	{ "cold, unaligned", false, cold, unaligned },
	{ "cold, by sendfile", false, cold, sent },
	{ "cold, by faults of a mapping", true, cold, touched },
	{ "warm, in order", false, warm, sequential },
	{ "half warm, in order", false, half, sequential },
	{ "a third just written", false, cold, written },
	{ "half preloaded", false, preloaded, sequential },
	{ 0 },
};

int
workload_kept(const struct workload_file *file)
{
	unsigned char *pages = malloc(file->pages);
	int kept;

	if (!pages)
		return -1;
	kept = look(file, pages) < 0 ? -1 : 1;
	for (size_t i = 0; i < file->pages && kept == 1; i++)
		kept = pages[i] || !file->book->cached[i];
	free(pages);
	return kept;
}

/* Gone with its last descriptor, whatever ends us. */
static int
make_nameless(const char *folder)
{
	char *path = NULL;
	int fd, error;

	if (asprintf(&path, "%s/hotset.XXXXXX", folder) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	error = errno;
	if (fd >= 0)
		unlink(path);
	free(path);
	errno = error;
	return fd;
}

static int
fill(const struct workload_file *file)
{
	struct statvfs status;

	if (fstatvfs(file->fd, &status) < 0)
		return -1;
	if ((uint64_t)status.f_bavail * status.f_frsize < 2ULL * WORKLOAD_BYTES) {
		errno = ENOSPC;
		return -1;
	}
	/* no holes, and nothing that a file system would compress to none */
	for (size_t i = 0; i < sizeof buffer; i++)
		buffer[i] = (char)(i * 2654435761U >> 13);
	for (off_t at = 0; at < WORKLOAD_BYTES;) {
		ssize_t n = pwrite(file->fd, buffer, sizeof buffer - (size_t)at % sizeof buffer,
		    at);

		if (n < 0)
			return -1;
		at += n;
	}
	return 0;
}

int
workload_open(struct workload_file *file, const char *folder)
{
	int error;

	file->page = (size_t)sysconf(_SC_PAGESIZE);
	file->pages = WORKLOAD_BYTES / file->page;
	file->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	file->book = mmap(NULL, sizeof *file->book + file->pages, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	file->fd = make_nameless(folder);
	if (file->fd >= 0 && file->book != MAP_FAILED && fill(file) == 0 && cold(file) == 0)
		return 0;
	error = errno;
	workload_close(file);
	errno = error;
	return -1;
}

void
workload_close(struct workload_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->null >= 0)
		close(file->null);
	if (file->book != MAP_FAILED)
		munmap(file->book, sizeof *file->book + file->pages);
}
