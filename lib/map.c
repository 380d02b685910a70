/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "chart.h"
#include "num.h"
#include "residency.h"

#define WIDTH 80
#define FRAME 2    /* of these, what is around the parts */
#define MOST  4096 /* wider than any screen */

static uint64_t
line_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (columns && num_count(columns, &width) == 0 && width > 0)
		return width;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return WIDTH;
}

size_t
map_parts(int fd)
{
	uint64_t width = line_width(fd);

	return width <= FRAME ? 1 : width - FRAME < MOST ? (size_t)width - FRAME : MOST;
}

/* Where part NUMBER of COUNT begins in PAGES pages; no product of both is needed. */
static uint64_t
part_start(uint64_t pages, size_t count, size_t number)
{
	return pages / count * number + pages % count * number / count;
}

/* Asks about each part on its own: no more is kept of a file than what is drawn. */
static bool
count_parts(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    struct chart_part *parts, size_t count)
{
	uint64_t page = residency_page_size(), pages = residency_pages(offset, length);
	uint64_t start = offset, first = offset / page;

	for (size_t i = 0; i < count; i++) {
		uint64_t end = (first + part_start(pages, count, i + 1)) * page;
		struct residency residency;

		if (end > offset + length)
			end = offset + length;
		residency_query(fd, status, start, end - start, &residency);
		if (residency.method == RESIDENCY_UNKNOWN)
			return false;
		parts[i] = (struct chart_part){ residency.pages, residency.resident };
		start = end;
	}
	return true;
}

char *
map_draw(int fd, const struct stat *status, uint64_t offset, uint64_t length, size_t most)
{
	uint64_t pages = residency_pages(offset, length);
	size_t count = pages < most ? (size_t)pages : most;
	struct chart_part *parts = calloc(count + 1, sizeof *parts);
	char *line = NULL;

	if (!parts)
		return NULL;
	if (!count_parts(fd, status, offset, length, parts, count))
		line = strdup("unknown");
	else if ((line = malloc(count + 3)) != NULL)
		chart_draw(parts, count, line);
	free(parts);
	return line;
}
