/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pagemap.h"
#include "residency.h"

#define WINDOW 512 /* pages mapped at a time: what one page table holds */
#define AROUND 16  /* pages that a fault maps, if they are in memory */
#define READ   16  /* flags read at a time: pages of a file are often neighbours */

#define FLAG(name) (1ULL << KPF_##name)

/* The pages of a part of a file, and what is known of them. */
struct window {
	const struct heat *heat;
	char *map;
	size_t count;
	uint64_t frames[WINDOW]; /* 0: not known */

	/* the flags read last: those of READ frames from FIRST on */
	uint64_t first, flags[READ];
	size_t valid;
	uint64_t frame; /* looked at last, and the heat of its folio */
	int folio;
};

void
heat_begin(struct heat *heat)
{
	heat->pagemap = pagemap_open();
	heat->flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	heat->scratch = memfd_create("hotset", MFD_CLOEXEC);
	heat->known = heat->pagemap >= 0 && heat->flags >= 0 && heat->scratch >= 0;
}

/*
 * Has the page mapped, by a write(2) from it: should it have been cut off meanwhile, that
 * fails where an access of our own would be a SIGBUS. (MADV_POPULATE_READ and what else goes
 * through get_user_pages marks pages as accessed.)
 */
static void
touch(struct window *window, size_t at)
{
	char *address = window->map + at * residency_page_size();
	unsigned char in;

	/* it may have gone from memory, and must not be read by this */
	if (mincore(address, 1, &in) == 0 && (in & 1) &&
	    pwrite(window->heat->scratch, address, 1, 0) < 0) {
		/* then it stays unknown */
	}
}

/* Finds the frames of COUNT pages, which one fault may map all. */
static void
find_frames(struct window *window, size_t at, size_t count)
{
	for (size_t end = at + count; at < end; at++) {
		if (window->frames[at])
			continue;
		touch(window, at);
		pagemap_frames(window->heat->pagemap, window->map + at * residency_page_size(),
		    window->frames + at, end - at);
	}
}

static uint64_t
flags_of(struct window *window, uint64_t frame)
{
	if (frame < window->first || frame - window->first >= window->valid) {
		window->first = frame;
		window->valid = pagemap_numbers(window->heat->flags, frame, window->flags, READ);
	}
	return window->valid ? window->flags[frame - window->first] : FLAG(NOPAGE);
}

/* The frame that a folio begins with. Folios lie as their size has it. */
static uint64_t
head_of(struct window *window, uint64_t frame)
{
	for (uint64_t size = 2; size <= 1 << 20; size *= 2) {
		uint64_t head = frame & ~(size - 1);

		if (flags_of(window, head) & FLAG(COMPOUND_HEAD))
			return head;
	}
	return frame;
}

/* Before Linux 6.10 only the head of a folio has flags. */
static int
judge(struct window *window, uint64_t frame)
{
	uint64_t flags = frame ? flags_of(window, frame) : FLAG(NOPAGE);
	bool tail = flags & FLAG(COMPOUND_TAIL);

	if (!tail || frame != window->frame + 1) {
		if (tail)
			flags = flags_of(window, head_of(window, frame));
		window->folio = flags & FLAG(NOPAGE) ? SNAPSHOT_NO_HEAT
		    : flags & FLAG(ACTIVE)           ? HEAT_ACTIVE
		    : flags & FLAG(REFERENCED)       ? HEAT_REFERENCED
						     : HEAT_NONE;
	}
	window->frame = frame;
	return window->folio;
}

static void
look(struct window *window, int fd, uint64_t offset, size_t length)
{
	window->map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (window->map == MAP_FAILED)
		return;
	madvise(window->map, length, MADV_RANDOM); /* nothing is read ahead */
	for (size_t at = 0; at < window->count; at += AROUND)
		find_frames(window, at, window->count - at < AROUND ? window->count - at : AROUND);
}

/* Since Linux 6.3 MADV_RANDOM keeps munmap(2) from marking pages as accessed; before, this. */
static void
look_away(struct window *window, size_t length)
{
	if (window->map == MAP_FAILED)
		return;
	madvise(window->map, length, MADV_SEQUENTIAL);
	munmap(window->map, length);
}

/* One part that begins in a page at OFFSET and ends in the same window. */
static int
split_window(const struct heat *heat, int fd, uint64_t offset, uint64_t length,
    struct snapshot_ranges *ranges)
{
	struct window window = { .heat = heat,
		.count = residency_pages(offset, length),
		.frame = UINT64_MAX };
	uint64_t page = residency_page_size(), start = offset - offset % page;
	size_t bytes = (size_t)(offset + length - start);
	int result = 0;

	look(&window, fd, start, bytes);
	for (size_t i = 0; i < window.count && result == 0; i++) {
		uint64_t end = start + (i + 1) * page;
		struct snapshot_range range = { .offset = offset,
			.heat = judge(&window, window.frames[i]) };

		range.length = (end < start + bytes ? end : start + bytes) - offset;
		offset = end;
		result = snapshot_ranges_add(ranges, &range);
	}
	look_away(&window, bytes);
	return result;
}

int
heat_split(const struct heat *heat, int fd, const struct ranges *present,
    struct snapshot_ranges *ranges)
{
	uint64_t window = WINDOW * residency_page_size();
	int result = 0;

	for (size_t i = 0; i < present->count && result == 0; i++) {
		struct snapshot_range range = { present->list[i].offset, present->list[i].length,
			SNAPSHOT_NO_HEAT };

		if (!heat->known)
			result = snapshot_ranges_add(ranges, &range);
		while (heat->known && range.length && result == 0) {
			uint64_t part = window - range.offset % window;

			if (part > range.length)
				part = range.length;
			result = split_window(heat, fd, range.offset, part, ranges);
			range.offset += part;
			range.length -= part;
		}
	}
	return result;
}
