/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RANGES_H
#define HOTSET_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "num.h"

/* Parts of a file, in bytes, from its start on; neighbours are one. A zeroed struct has none. */
struct ranges {
	struct num_range *list;
	size_t count, size;
};

/* Adds one behind the others; -1 with ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t offset, uint64_t length);

/* Puts parts that were added in any order, and may overlap, into that of the file: each byte
 * is in one part at most. */
void ranges_arrange(struct ranges *ranges);

/*
 * Adds what is missing of LENGTH bytes from OFFSET of FD, or what is in memory, as mincore
 * sees it: only where residency_prove knows. 0, or -1 with errno as gaps_next.
 */
int ranges_missing(struct ranges *ranges, int fd, uint64_t offset, uint64_t length);
int ranges_present(struct ranges *ranges, int fd, uint64_t offset, uint64_t length);

void ranges_free(struct ranges *ranges);

#endif
