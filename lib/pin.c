/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "residency.h"
#include "stop.h"

#define WINDOW  (64ULL << 20) /* locked in one call, between looks at a stop */
#define PRESENT (1ULL << 63)  /* in /proc/self/pagemap: the page is mapped */
#define ENTRIES 2048          /* of it read at a time */

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int
make_room(struct pins *pins)
{
	size_t size = pins->size ? 2 * pins->size : 64;
	struct pin *list;

	if (pins->count < pins->size)
		return 0;
	list = realloc(pins->list, size * sizeof *list);
	if (!list)
		return -1;
	pins->list = list;
	pins->size = size;
	return 0;
}

static enum pin_failure
lock_windows(int fd, char *address, uint64_t length, uint64_t end)
{
	struct stat status;

	for (uint64_t at = 0; at < length; at += WINDOW) {
		if (stop_asked())
			return PIN_STOPPED;
		if (mlock(address + at, least(WINDOW, length - at)) == 0)
			continue;
		/* ENOMEM: too much, or past the end of the file */
		if (errno == ENOMEM && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		    (uint64_t)status.st_size < end)
			return PIN_SHRANK;
		return PIN_ERROR;
	}
	return PIN_DONE;
}

/* Why mmap said ENOMEM: where one page can be mapped even so, it is not their number. */
static enum pin_failure
what_limit(int fd, uint64_t start)
{
	uint64_t page = residency_page_size();
	void *address = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)start);
	struct rlimit space;

	if (address == MAP_FAILED)
		return PIN_MAPS;
	munmap(address, page);
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		return PIN_SPACE;
	errno = ENOMEM;
	return PIN_ERROR;
}

enum pin_failure
pins_add(struct pins *pins, int fd, const struct stat *status, uint64_t offset, uint64_t length,
    size_t owner)
{
	uint64_t page = residency_page_size(), start = offset / page * page;
	uint64_t bytes = residency_pages(offset, length) * page;
	enum pin_failure failure;
	void *address;
	int error;

	if (length == 0)
		return PIN_DONE;
	if (make_room(pins) < 0)
		return PIN_ERROR;
	address = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)start);
	if (address == MAP_FAILED)
		return errno == ENOMEM ? what_limit(fd, start) : PIN_ERROR;
	failure = lock_windows(fd, address, bytes, offset + length);
	if (failure != PIN_DONE) {
		error = errno;
		munmap(address, bytes);
		errno = error;
		return failure;
	}
	pins->list[pins->count++] = (struct pin){
		.address = address,
		.length = bytes,
		.device = status->st_dev,
		.inode = status->st_ino,
		.owner = owner,
	};
	return PIN_DONE;
}

struct pin *
pins_find(const struct pins *pins, uint64_t device, uint64_t inode)
{
	for (size_t i = pins->count; i-- > 0;)
		if (pins->list[i].device == device && pins->list[i].inode == inode)
			return &pins->list[i];
	return NULL;
}

uint64_t
pin_measure(const struct pin *pin)
{
	uint64_t entries[ENTRIES], page = residency_page_size(), resident = 0;
	uint64_t first = (uint64_t)(uintptr_t)pin->address / page, left = pin->length / page;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return PIN_UNKNOWN;
	while (left > 0) {
		uint64_t want = least(left, ENTRIES) * sizeof *entries;
		ssize_t n = pread(fd, entries, want, (off_t)(first * sizeof *entries));

		if (n < (ssize_t)sizeof *entries) {
			close(fd);
			return PIN_UNKNOWN;
		}
		for (size_t i = 0; i < (size_t)n / sizeof *entries; i++)
			resident += (entries[i] & PRESENT) != 0;
		first += (uint64_t)n / sizeof *entries;
		left -= (uint64_t)n / sizeof *entries;
	}
	close(fd);
	return resident * page;
}

void
pins_release(struct pins *pins)
{
	for (size_t i = 0; i < pins->count; i++)
		munmap(pins->list[i].address, pins->list[i].length);
	free(pins->list);
	*pins = (struct pins){ 0 };
}
