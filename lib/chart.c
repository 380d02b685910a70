/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chart.h"

static char
mark(const struct chart_part *part)
{
	if (part->resident == 0)
		return ' ';
	if (part->resident >= part->pages)
		return '#';
	return part->resident >= part->pages - part->resident ? '+' : '.';
}

void
chart_draw(const struct chart_part *parts, size_t count, char *line)
{
	*line++ = '[';
	for (size_t i = 0; i < count; i++)
		*line++ = mark(&parts[i]);
	*line++ = ']';
	*line = '\0';
}
