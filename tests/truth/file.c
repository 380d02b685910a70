/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "truth.h"

#define TRIES 50
#define CHUNK (1 << 20)
#define RUN   32 /* pages */

#define OVERLAYFS 0x794c7630 /* include/uapi/linux/magic.h */
#define CACHESTAT 451        /* the system call; musl 1.2.3 does not know it */

static char data[CHUNK];

static void
make(struct file *file, const char *path, off_t size)
{
	snprintf(file->path, sizeof file->path, "%s", path);
	file->size = size;
	file->pages = ((size_t)size + PAGE - 1) / PAGE;
	file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file->fd < 0)
		broken(path);
	file->cached = mmap(NULL, 2 * file->pages + 1, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	file->before = calloc(1, file->pages + 1);
	if (file->cached == MAP_FAILED || !file->before)
		broken("memory");
}

void
file_make(struct file *file, const char *path, off_t size)
{
	make(file, path, size);
	memset(data, 'x', sizeof data);
	for (off_t left = size; left > 0; left -= CHUNK) {
		size_t part = left < CHUNK ? (size_t)left : CHUNK;

		if (write(file->fd, data, part) != (ssize_t)part)
			broken(path);
	}
}

void
file_make_sparse(struct file *file, const char *path, off_t size)
{
	make(file, path, size);
	if (ftruncate(file->fd, size) < 0)
		broken(path);
}

/* Which pages are in memory, by mincore; the caller frees it. */
static unsigned char *
look(const struct file *file)
{
	size_t length = file->pages * PAGE;
	void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, file->fd, 0);
	unsigned char *resident = calloc(1, file->pages + 1);

	if (!resident || map == MAP_FAILED || mincore(map, length, resident) < 0)
		broken("mincore");
	munmap(map, length);
	for (size_t i = 0; i < file->pages; i++)
		resident[i] &= 1;
	return resident;
}

bool
file_wants(const struct file *file, size_t page)
{
	switch (file->state) {
	case COLD:
		return false;
	case WARM:
		return true;
	case HALF:
		return page < file->pages / 2;
	case EVERY_4TH:
		return page % 4 == 0;
	case MIXED:
		return (page * 2654435761u >> 16 & 1) != 0;
	}
	return false;
}

/* What is wanted and nothing around it, without readahead: large folios would straddle the
 * borders. */
static void
fill(struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	size_t page = 0;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken(file->path);
	while (page < file->pages) {
		size_t end = page;

		while (end < file->pages && end - page < RUN && file_wants(file, end))
			end++;
		if (end == page)
			page++;
		else if (pread(fd, data, (end - page) * PAGE, (off_t)(page * PAGE)) < 0)
			broken(file->path);
		else
			page = end;
	}
	close(fd);
}

bool
file_is_overlaid(const struct file *file)
{
	struct statfs system;

	return fstatfs(file->fd, &system) == 0 && system.f_type == OVERLAYFS;
}

/* Whether nothing but COUNT pages is in the cache, or on its way there, which mincore does not
 * show: where the kernel tells (6.5). */
static bool
holds_only(const struct file *file, size_t count)
{
	uint64_t range[2] = { 0, 0 }, cached[5]; /* all of it; the first is what is there */

	if (file_is_overlaid(file)) /* cachestat asks the overlay's own pages */
		return true;
	return syscall(CACHESTAT, file->fd, range, cached, 0) < 0 || cached[0] == count;
}

static bool
is_in_state(const struct file *file, const unsigned char *resident)
{
	size_t count = 0;

	for (size_t page = 0; page < file->pages; page++) {
		if (resident[page] != file_wants(file, page))
			return false;
		count += resident[page];
	}
	return holds_only(file, count);
}

/* One try. */
static bool
set(struct file *file)
{
	unsigned char *resident;
	bool done;

	/* pages that were read lately may be held by a processor's batch */
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
	resident = look(file);
	done = !memchr(resident, 1, file->pages) && holds_only(file, 0);
	free(resident);
	if (!done)
		return false;
	if (file->state == COLD)
		return true;
	fill(file);
	resident = look(file);
	done = is_in_state(file, resident);
	free(resident);
	return done;
}

void
file_set(struct file *file, enum state state)
{
	file->state = state;
	if (fsync(file->fd) < 0)
		broken(file->path);
	for (int i = 0; i < TRIES; i++) {
		if (set(file))
			return;
		usleep(20000);
	}
	errno = EAGAIN;
	broken("cannot bring the file into its starting state");
}

bool
file_holds(struct file *file)
{
	free(file->before);
	file->before = look(file);
	for (size_t page = 0; page < file->pages; page++)
		file->cached[page] = file->before[page];
	return is_in_state(file, file->before);
}

bool
file_kept(struct file *file)
{
	unsigned char *resident = look(file);
	bool kept = true;

	for (size_t page = 0; page < file->pages; page++)
		kept = kept && (resident[page] || !file->cached[page]);
	free(resident);
	return kept;
}

void
file_overwritten(struct file *file)
{
	unsigned char *resident = look(file);
	struct stat now;

	if (fstat(file->fd, &now) < 0)
		broken(file->path);
	for (size_t page = 0; page < file->pages; page++)
		if (!resident[page] || (off_t)(page * PAGE) >= now.st_size)
			file->cached[page] = 1;
	free(resident);
}

size_t
file_filled(const struct file *file)
{
	unsigned char *resident = look(file);
	size_t filled = 0;

	for (size_t page = 0; page < file->pages; page++)
		filled += resident[page] && !file->before[page];
	free(resident);
	return filled;
}

void
file_remove(struct file *file)
{
	if (file->path[0])
		unlink(file->path);
}
