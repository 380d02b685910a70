/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gaps.h"

#include <errno.h>
#include <sys/mman.h>

#include "num.h"
#include "residency.h"
#include "stop.h"

/* Looks that a stop does not keep from: 8 GiB, about 0.2 s. */
#define LAST_LOOKS 256

void
gaps_begin(struct gaps *gaps, int fd, uint64_t offset, uint64_t length)
{
	gaps->fd = fd;
	gaps->next = offset;
	gaps->end = offset + length;
	gaps->window = gaps->window_end = 0;
	gaps->looks = 0;
}

/* Looks at the window that begins with the page of gaps->next. */
static int
look(struct gaps *gaps)
{
	uint64_t page = residency_page_size();
	uint64_t start = gaps->next / page * page;
	uint64_t length = gaps->end - start;
	void *map;
	int result;

	if (gaps->looks++ >= LAST_LOOKS && stop_asked()) {
		errno = EINTR;
		return -1;
	}
	if (length > GAPS_WINDOW * page)
		length = GAPS_WINDOW * page;
	map = mmap(NULL, length, PROT_READ, MAP_SHARED, gaps->fd, (off_t)start);
	if (map == MAP_FAILED)
		return -1;
	result = mincore(map, length, gaps->seen);
	munmap(map, length);
	gaps->window = start / page;
	gaps->window_end = gaps->window + residency_pages(start, length);
	return result;
}

static int
is_in(const struct gaps *gaps, uint64_t page)
{
	return gaps->seen[page - gaps->window] & 1;
}

int
gaps_next(struct gaps *gaps)
{
	uint64_t size = residency_page_size();

	while (gaps->next < gaps->end) {
		uint64_t page = gaps->next / size;

		if (page >= gaps->window_end) {
			if (look(gaps) < 0)
				return -1;
		}
		while (page < gaps->window_end && is_in(gaps, page))
			page++;
		if (page * size > gaps->next)
			gaps->next = num_least(page * size, gaps->end);
		if (page == gaps->window_end)
			continue;
		while (page < gaps->window_end && !is_in(gaps, page))
			page++;
		gaps->offset = gaps->next;
		gaps->next = num_least(page * size, gaps->end);
		gaps->length = gaps->next - gaps->offset;
		return 1;
	}
	return 0;
}

int
gaps_sum(int fd, uint64_t offset, uint64_t length, uint64_t *bytes)
{
	struct gaps gaps;
	int found;

	*bytes = 0;
	gaps_begin(&gaps, fd, offset, length);
	while ((found = gaps_next(&gaps)) > 0)
		*bytes += gaps.length;
	return found;
}
