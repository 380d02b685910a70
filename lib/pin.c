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

#include "memlock.h"
#include "num.h"
#include "residency.h"
#include "stop.h"

#define WINDOW  (16ULL << 20) /* locked in one call, between looks at a stop */
#define ENTRIES 2048          /* of /proc/self/pagemap read at a time */

/* There: the page is mapped, or is on its way to another place in memory, which looks as if it
 * were swapped out. */
#define PRESENT (1ULL << 63 | 1ULL << 62)

struct pin_what
pin_pages(int fd, uint64_t offset, uint64_t length)
{
	uint64_t page = residency_page_size();

	return (struct pin_what){ fd, offset / page * page, residency_pages(offset, length) * page,
		offset + length };
}

/* For COUNT more. */
static int
make_room(struct pins *pins, size_t count)
{
	size_t size = pins->size ? pins->size : 64;
	struct pin *list;

	while (pins->count + count > size)
		size *= 2;
	if (size == pins->size)
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

static bool
is_halted(const struct pins *pins)
{
	return pins->halt && atomic_load_explicit(pins->halt, memory_order_relaxed);
}

/* What is locked already and has gone comes in again: mlock(2) faults in all that it is told.
 * Sets *DONE to how far it came. */
static enum pin_failure
lock_windows(const struct pins *pins, char *address, uint64_t length, uint64_t *done)
{
	for (*done = 0; *done < length && !is_halted(pins);) {
		uint64_t size = num_least(WINDOW, length - *done);

		if (stop_asked())
			return PIN_STOPPED;
		if (mlock(address + *done, size) < 0)
			return PIN_ERROR;
		*done += size;
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

/* Why mlock failed, for BYTES more. */
static enum pin_failure
why_not(int fd, uint64_t end, uint64_t bytes)
{
	int error = errno;
	bool limit;

	if (fd >= 0 && has_shrunk(fd, end))
		return PIN_SHRANK;
	limit = (error == ENOMEM || error == EPERM) && !memlock_has_room(bytes);
	errno = error;
	return limit ? PIN_LIMIT : PIN_ERROR;
}

static void
unmap(void *address, uint64_t length)
{
	int error = errno;

	munmap(address, length);
	errno = error;
}

enum pin_failure
pins_add(struct pins *pins, const struct pin_what *what, uint64_t *locked, uint32_t *number)
{
	enum pin_failure failure;
	uint64_t done;
	void *address;

	if (make_room(pins, 1) < 0)
		return PIN_ERROR;
	if (is_halted(pins)) {
		*locked = 0;
		return PIN_DONE;
	}
	address = mmap(NULL, what->length, PROT_READ, MAP_SHARED, what->fd, (off_t)what->start);
	if (address == MAP_FAILED)
		return errno == ENOMEM ? what_limit(what->fd, what->start) : PIN_ERROR;
	failure = lock_windows(pins, address, *locked, &done);
	if (failure == PIN_ERROR)
		failure = why_not(what->fd, what->end, *locked - done);
	if (failure != PIN_DONE || done == 0) {
		unmap(address, what->length);
		*locked = 0;
		return failure;
	}
	*number = take_number(pins);
	*locked = done;
	pins->list[*number] = (struct pin){ address, what->length, done, done };
	return PIN_DONE;
}

/*
 * Maps them one behind the other from AREA on, where nothing is mapped; returns false, with nothing
 * mapped, where that failed. Room that is reserved until then would be split 64 times.
 */
static bool
map_all(char *area, const struct pin_what *whats, size_t count)
{
	char *at = area, *got;

	for (size_t i = 0; i < count; i++) {
		got = mmap(at, whats[i].length, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE,
		    whats[i].fd, (off_t)whats[i].start);
		if (got == at) {
			at += whats[i].length;
			continue;
		}
		if (got != MAP_FAILED) /* before 4.17 it is put elsewhere */
			munmap(got, whats[i].length);
		if (at > area)
			munmap(area, (size_t)(at - area));
		return false;
	}
	return true;
}

bool
pins_add_together(struct pins *pins, const struct pin_what *whats, size_t count, uint32_t *numbers)
{
	uint64_t sum = 0;
	char *area;

	for (size_t i = 0; i < count; i++)
		sum += whats[i].length;
	if (sum > WINDOW || is_halted(pins) || make_room(pins, count) < 0)
		return false;
	area = mmap(NULL, sum, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return false;
	munmap(area, sum);
	if (!map_all(area, whats, count))
		return false;
	if (mlock(area, sum) < 0) {
		munmap(area, sum);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		numbers[i] = take_number(pins);
		pins->list[numbers[i]] = (struct pin){ area, whats[i].length, whats[i].length,
			whats[i].length };
		area += whats[i].length;
	}
	return true;
}

/* A part of /proc/self/pagemap: files that are mapped beside each other share what is read. */
struct window {
	int fd;
	bool failed;           /* what is asked for could not be read */
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
		if (page >= first + window->count) {
			window->failed = true;
			return false;
		}
	}
	return (window->entries[page - window->first] & PRESENT) != 0;
}

/* Sets *FIRST to how much there is before the first that is not. PIN_UNKNOWN where the kernel does
 * not tell. */
static uint64_t
measure(struct window *window, const struct pin *pin, uint64_t *first)
{
	uint64_t page = residency_page_size(), start = (uint64_t)(uintptr_t)pin->address / page;
	uint64_t present = 0;

	*first = pin->length;
	for (uint64_t i = 0; i < pin->length / page; i++)
		if (is_present(window, start + i))
			present++;
		else if (*first == pin->length)
			*first = i * page;
	return window->failed ? PIN_UNKNOWN : present * page;
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

uint64_t
pins_look(struct pins *pins, uint32_t number, uint64_t *first)
{
	struct pin *pin = &pins->list[number];
	struct window *window = open_window();
	uint64_t seen, unused;

	if (!window)
		return PIN_UNKNOWN;
	seen = measure(window, pin, first ? first : &unused);
	if (seen != PIN_UNKNOWN)
		pin->seen = seen;
	close_window(window);
	return seen;
}

enum pin_failure
pins_restore(struct pins *pins, uint32_t number, uint64_t first)
{
	struct pin *pin = &pins->list[number];
	enum pin_failure failure;
	uint64_t done;

	failure = lock_windows(pins, (char *)pin->address + first, pin->length - first, &done);
	if (failure == PIN_DONE && first + done == pin->length)
		pin->seen = pin->length;
	return failure;
}

/* Nothing beyond LENGTH is mapped any more, so that nothing seems to use it. */
static void
cut(struct pin *pin, uint64_t length)
{
	if (pin->mapped > length)
		unmap((char *)pin->address + length, pin->mapped - length);
	pin->mapped = pin->length = length;
	pin->seen = num_least(pin->seen, length);
}

/* Maps more than was; what was, is locked as a whole, and hence what comes. */
static enum pin_failure
map_more(struct pin *pin, uint64_t length)
{
	void *address;

	cut(pin, pin->length);
	address = mremap(pin->address, pin->length, length, MREMAP_MAYMOVE);
	if (address == MAP_FAILED)
		return errno == EAGAIN ? PIN_LIMIT : PIN_ERROR;
	pin->address = address;
	pin->mapped = length;
	return PIN_DONE;
}

enum pin_failure
pins_resize(struct pins *pins, uint32_t number, uint64_t *length, uint64_t *seen)
{
	struct pin *pin = &pins->list[number];
	enum pin_failure failure = PIN_DONE;
	uint64_t before = pin->length, done = 0;
	bool moved = *length > pin->mapped;

	if (*length <= before)
		cut(pin, *length);
	else if (!is_halted(pins)) {
		if (moved)
			failure = map_more(pin, *length);
		if (failure == PIN_DONE)
			failure = lock_windows(pins, (char *)pin->address + before,
			    *length - before, &done);
		if (failure == PIN_ERROR)
			failure = why_not(-1, 0, *length - before - done);
		pin->length = before + done;
		pin->seen += done;
		/* a mapping that has grown is locked beyond; a call that failed may have locked */
		if (moved || failure != PIN_DONE)
			cut(pin, pin->length);
	}
	*length = pin->length;
	*seen = pin->seen;
	return failure;
}

void
pins_drop(struct pins *pins, uint32_t number)
{
	size_t size = pins->unused_size ? 2 * pins->unused_size : 64;
	struct pin *pin = &pins->list[number];
	uint32_t *unused = pins->unused;

	munmap(pin->address, pin->mapped);
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
	bool failed;

	if (!window)
		return -1;
	for (size_t i = 0; i < pins->count && !window->failed; i++) {
		struct pin *pin = &pins->list[i];
		uint64_t seen, first;

		if (!pin->address)
			continue;
		seen = measure(window, pin, &first);
		if (seen == PIN_UNKNOWN || seen == pin->seen)
			continue;
		pin->seen = seen;
		changed((uint32_t)i, seen, argument);
	}
	failed = window->failed;
	close_window(window);
	return failed ? -1 : 0;
}

void
pins_release(struct pins *pins)
{
	char *start = NULL, *end = NULL;

	/* those side by side in one call */
	for (size_t i = 0; i < pins->count; i++) {
		const struct pin *pin = &pins->list[i];

		if (!pin->address)
			continue;
		if (pin->address != end) {
			if (start)
				munmap(start, (size_t)(end - start));
			start = pin->address;
		}
		end = (char *)pin->address + pin->mapped;
	}
	if (start)
		munmap(start, (size_t)(end - start));
	free(pins->list);
	free(pins->unused);
	*pins = (struct pins){ 0 };
}
