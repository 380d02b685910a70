/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranges.h"

#include <stdlib.h>

#include "gaps.h"

int
ranges_add(struct ranges *ranges, uint64_t offset, uint64_t length)
{
	struct num_range *last = ranges->count ? &ranges->list[ranges->count - 1] : NULL;

	if (length == 0)
		return 0;
	if (last && last->offset + last->length == offset) {
		last->length += length;
		return 0;
	}
	if (ranges->count == ranges->size) {
		size_t size = ranges->size ? 2 * ranges->size : 4;
		struct num_range *larger = realloc(ranges->list, size * sizeof *larger);

		if (!larger)
			return -1;
		ranges->list = larger;
		ranges->size = size;
	}
	ranges->list[ranges->count++] = (struct num_range){ offset, length };
	return 0;
}

static int
by_offset(const void *a, const void *b)
{
	const struct num_range *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

void
ranges_arrange(struct ranges *ranges)
{
	struct num_range *last = ranges->list;

	if (!ranges->count)
		return;
	qsort(ranges->list, ranges->count, sizeof *ranges->list, by_offset);
	for (size_t i = 1; i < ranges->count; i++) {
		struct num_range *next = &ranges->list[i];
		uint64_t end = last->offset + last->length;

		if (next->offset > end)
			*++last = *next;
		else if (next->length > end - next->offset)
			last->length = next->offset + next->length - last->offset;
	}
	ranges->count = (size_t)(last - ranges->list) + 1;
}

int
ranges_missing(struct ranges *ranges, int fd, uint64_t offset, uint64_t length)
{
	struct gaps gaps;
	int found;

	gaps_begin(&gaps, fd, offset, length);
	while ((found = gaps_next(&gaps)) > 0)
		if (ranges_add(ranges, gaps.offset, gaps.length) < 0)
			return -1;
	return found;
}

int
ranges_present(struct ranges *ranges, int fd, uint64_t offset, uint64_t length)
{
	uint64_t at = offset;
	struct gaps gaps;
	int found;

	gaps_begin(&gaps, fd, offset, length);
	while ((found = gaps_next(&gaps)) > 0) {
		if (ranges_add(ranges, at, gaps.offset - at) < 0)
			return -1;
		at = gaps.offset + gaps.length;
	}
	return found < 0 ? -1 : ranges_add(ranges, at, offset + length - at);
}

void
ranges_free(struct ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct ranges){ 0 };
}
