/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CHART_H
#define HOTSET_CHART_H

#include <stddef.h>
#include <stdint.h>

/*
 * A file as a line of text, one character for each part of it: "[##+. ]". It tells how many
 * of the part's pages are in memory: all '#', half of them or more '+', fewer '.', none ' '.
 */

struct chart_part {
	uint64_t pages, resident;
};

/* Draws COUNT parts into LINE, which has room for COUNT + 3 bytes. */
void chart_draw(const struct chart_part *parts, size_t count, char *line);

#endif
