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
