/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 50

_Noreturn void
broken(const char *what)
{
	fprintf(stderr, "truth: %s: %s\n", what, strerror(errno));
	exit(3);
}

uint32_t
draw(uint32_t below)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % below);
}

void
file_make(struct file *file, const char *path, off_t size)
{
	char data[PAGE];
	off_t left = size;

	snprintf(file->path, sizeof file->path, "%s", path);
	file->size = size;
	file->pages = ((size_t)size + PAGE - 1) / PAGE;
	file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file->fd < 0)
		broken(path);
	memset(data, 'x', sizeof data);
	for (; left > 0; left -= (off_t)PAGE)
		if (write(file->fd, data, left < (off_t)PAGE ? (size_t)left : PAGE) < 0)
			broken(path);
	file->cached = mmap(NULL, 2 * file->pages + 1, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (file->cached == MAP_FAILED)
		broken("mmap");
}

/* Which pages are in memory, by mincore. */
static void
look(const struct file *file, unsigned char *resident)
{
	size_t length = file->pages * PAGE;
	void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, file->fd, 0);

	if (map == MAP_FAILED || mincore(map, length, resident) < 0)
		broken("mincore");
	munmap(map, length);
	for (size_t i = 0; i < file->pages; i++)
		resident[i] &= 1;
}

static bool
is_wanted(const struct file *file, enum state state, size_t page)
{
	switch (state) {
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

/* Page by page and without readahead: large folios would straddle the borders. */
static void
fill(struct file *file, enum state state)
{
	char data[PAGE];
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken(file->path);
	for (size_t page = 0; page < file->pages; page++)
		if (is_wanted(file, state, page) && pread(fd, data, PAGE, (off_t)(page * PAGE)) < 0)
			broken(file->path);
	close(fd);
}

static bool
is_in_state(const struct file *file, enum state state, const unsigned char *resident)
{
	for (size_t page = 0; page < file->pages; page++)
		if (resident[page] != is_wanted(file, state, page))
			return false;
	return true;
}

void
file_set(struct file *file, enum state state)
{
	unsigned char *resident = calloc(1, file->pages + 1);

	file->state = state;
	if (!resident || fsync(file->fd) < 0)
		broken(file->path);
	for (int i = 0; i < TRIES; i++) {
		/* pages that were read lately may be held by a processor's batch */
		posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
		look(file, resident);
		if (!memchr(resident, 1, file->pages)) {
			fill(file, state);
			look(file, resident);
		}
		if (is_in_state(file, state, resident)) {
			free(resident);
			return;
		}
		usleep(20000);
	}
	errno = EAGAIN;
	broken("cannot bring the file into its starting state");
}

bool
file_holds(struct file *file)
{
	unsigned char *resident = calloc(1, file->pages + 1);
	bool holds;

	if (!resident)
		broken("memory");
	look(file, resident);
	holds = is_in_state(file, file->state, resident);
	for (size_t page = 0; page < file->pages; page++)
		file->cached[page] = resident[page];
	free(resident);
	return holds;
}

bool
file_kept(struct file *file)
{
	unsigned char *resident = calloc(1, file->pages + 1);
	bool kept = true;

	if (!resident)
		broken("memory");
	look(file, resident);
	for (size_t page = 0; page < file->pages; page++)
		kept = kept && (resident[page] || !file->cached[page]);
	free(resident);
	return kept;
}

void
file_accessed(struct file *file, struct truth *truth, off_t offset, ssize_t length)
{
	if (length < 0)
		broken(file->path);
	if (length == 0)
		return;
	for (off_t page = offset / (off_t)PAGE; page <= (offset + length - 1) / (off_t)PAGE;
	     page++) {
		truth->accesses++;
		if (!atomic_exchange(&file->cached[page], 1))
			truth->misses++;
	}
}

void
file_remove(struct file *file)
{
	if (file->path[0])
		unlink(file->path);
}
