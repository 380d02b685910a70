/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

	if (pins->unused_count || pins->count < pins->size)
		return 0;
	list = realloc(pins->list, size * sizeof *list);
	if (!list)
		return -1;
	pins->list = list;
	pins->size = size;
	return 0;
}

static uint32_t
take_number(struct pins *pins)
{
	return pins->unused_count ? pins->unused[--pins->unused_count] : (uint32_t)pins->count++;
}

/* What is locked already and has gone comes in again: mlock(2) faults in all that it is told. */
static enum pin_failure
lock_windows(char *address, uint64_t length)
{
	for (uint64_t at = 0; at < length; at += WINDOW) {
		if (stop_asked())
			return PIN_STOPPED;
		if (mlock(address + at, least(WINDOW, length - at)) < 0)
			return PIN_ERROR;
	}
	return PIN_DONE;
}

/* ENOMEM: too much, or past the end of the file. */
static bool
has_shrunk(int fd, uint64_t end)
{
	struct stat status;
	int error = errno;
	bool shrunk = error == ENOMEM && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size < end;

	errno = error;
	return shrunk;
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
pins_add(struct pins *pins, int fd, uint64_t start, uint64_t length, uint64_t end, uint32_t *number)
{
	enum pin_failure failure;
	void *address;
	int error;

	if (make_room(pins) < 0)
		return PIN_ERROR;
	address = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)start);
	if (address == MAP_FAILED)
		return errno == ENOMEM ? what_limit(fd, start) : PIN_ERROR;
	failure = lock_windows(address, length);
	if (failure != PIN_DONE) {
		if (failure == PIN_ERROR && has_shrunk(fd, end))
			failure = PIN_SHRANK;
		error = errno;
		munmap(address, length);
		errno = error;
		return failure;
	}
	*number = take_number(pins);
	pins->list[*number] = (struct pin){ address, length, length };
	return PIN_DONE;
}

/* A part of /proc/self/pagemap: files that are mapped beside each other share what is read. */
struct window {
	int fd;
	uint64_t first, count; /* pages */
	uint64_t entries[ENTRIES];
};

static bool
is_present(struct window *window, uint64_t page)
{
	if (page < window->first || page >= window->first + window->count) {
		uint64_t first = page / ENTRIES * ENTRIES;
		ssize_t n = pread(window->fd, window->entries, sizeof window->entries,
		    (off_t)(first * sizeof *window->entries));

		window->first = first;
		window->count = n < 0 ? 0 : (uint64_t)n / sizeof *window->entries;
		if (page >= first + window->count)
			return false;
	}
	return (window->entries[page - window->first] & PRESENT) != 0;
}

static uint64_t
measure(struct window *window, const struct pin *pin)
{
	uint64_t page = residency_page_size(), first = (uint64_t)(uintptr_t)pin->address / page;
	uint64_t present = 0;

	for (uint64_t i = 0; i < pin->length / page; i++)
		present += is_present(window, first + i);
	return present * page;
}

static struct window *
open_window(void)
{
	struct window *window = calloc(1, sizeof *window);

	if (!window)
		return NULL;
	window->fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (window->fd >= 0)
		return window;
	free(window);
	return NULL;
}

static void
close_window(struct window *window)
{
	close(window->fd);
	free(window);
}

enum pin_failure
pins_fit(struct pins *pins, uint32_t number, uint64_t length, uint64_t *seen)
{
	struct pin *pin = &pins->list[number];
	struct window *window = open_window();
	enum pin_failure failure;
	void *address = pin->address;

	*seen = PIN_UNKNOWN;
	if (window) {
		*seen = pin->seen = measure(window, pin);
		close_window(window);
	}
	if (length != pin->length) {
		/* locked mappings stay so, and what they grow by comes in */
		address = mremap(pin->address, pin->length, length, MREMAP_MAYMOVE);
		if (address == MAP_FAILED)
			return PIN_ERROR;
		pin->address = address;
		pin->length = length;
	}
	failure = lock_windows(address, length);
	if (failure == PIN_DONE)
		pin->seen = length;
	return failure;
}

void
pins_drop(struct pins *pins, uint32_t number)
{
	size_t size = pins->unused_size ? 2 * pins->unused_size : 64;
	struct pin *pin = &pins->list[number];
	uint32_t *unused = pins->unused;

	munmap(pin->address, pin->length);
	*pin = (struct pin){ 0 };
	if (pins->unused_count == pins->unused_size) {
		unused = realloc(unused, size * sizeof *unused);
		if (!unused)
			return; /* the number is used no more */
		pins->unused = unused;
		pins->unused_size = size;
	}
	unused[pins->unused_count++] = number;
}

int
pins_measure(struct pins *pins, void (*changed)(uint32_t number, uint64_t seen, void *argument),
    void *argument)
{
	struct window *window = open_window();

	if (!window)
		return -1;
	for (size_t i = 0; i < pins->count; i++) {
		struct pin *pin = &pins->list[i];
		uint64_t seen = pin->address ? measure(window, pin) : 0;

		if (seen == pin->seen)
			continue;
		pin->seen = seen;
		changed((uint32_t)i, seen, argument);
	}
	close_window(window);
	return 0;
}

void
pins_release(struct pins *pins)
{
	for (size_t i = 0; i < pins->count; i++)
		if (pins->list[i].address)
			munmap(pins->list[i].address, pins->list[i].length);
	free(pins->list);
	free(pins->unused);
	*pins = (struct pins){ 0 };
}
