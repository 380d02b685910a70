/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heat.h"

#include <linux/kernel-page-flags.h>

#include "residency.h"

#define FLAG(name) (1ULL << KPF_##name)

/* The pages of a part of a file, and what is known of them. */
struct window {
	struct frames_window of;
	uint64_t frame; /* looked at last, and the heat of its folio */
	int folio;
};

/* Before Linux 6.10 only the head of a folio has flags. */
static int
judge(struct window *window, uint64_t frame)
{
	uint64_t flags = frame ? frames_flags(&window->of, frame) : FLAG(NOPAGE);
	bool tail = flags & FLAG(COMPOUND_TAIL);

	if (!tail || frame != window->frame + 1) {
		if (tail)
			flags = frames_flags(&window->of, frames_head(&window->of, frame));
		window->folio = flags & FLAG(NOPAGE) ? SNAPSHOT_NO_HEAT
		    : flags & FLAG(ACTIVE)           ? HEAT_ACTIVE
		    : flags & FLAG(REFERENCED)       ? HEAT_REFERENCED
						     : HEAT_NONE;
	}
	window->frame = frame;
	return window->folio;
}

/* One part that begins in a page at OFFSET and ends in the same window. */
static int
split_window(const struct frames *frames, int fd, uint64_t offset, uint64_t length,
    struct snapshot_ranges *ranges)
{
	struct window window = { .frame = UINT64_MAX };
	uint64_t page = residency_page_size(), start = offset - offset % page;
	size_t bytes = (size_t)(offset + length - start);
	int result = 0;

	frames_look(&window.of, frames, fd, start, bytes);
	for (size_t i = 0; i < window.of.count && result == 0; i++) {
		uint64_t end = start + (i + 1) * page;
		struct snapshot_range range = { .offset = offset,
			.heat = judge(&window, window.of.frame[i]) };

		range.length = (end < start + bytes ? end : start + bytes) - offset;
		offset = end;
		result = snapshot_ranges_add(ranges, &range);
	}
	frames_look_away(&window.of);
	return result;
}

int
heat_split(const struct frames *frames, int fd, const struct ranges *present,
    struct snapshot_ranges *ranges)
{
	uint64_t window = FRAMES_PAGES * residency_page_size();
	int result = 0;

	for (size_t i = 0; i < present->count && result == 0; i++) {
		struct snapshot_range range = { present->list[i].offset, present->list[i].length,
			SNAPSHOT_NO_HEAT };

		if (!frames->known)
			result = snapshot_ranges_add(ranges, &range);
		while (frames->known && range.length && result == 0) {
			uint64_t part = window - range.offset % window;

			if (part > range.length)
				part = range.length;
			result = split_window(frames, fd, range.offset, part, ranges);
			range.offset += part;
			range.length -= part;
		}
	}
	return result;
}
