/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_GAPS_H
#define HOTSET_GAPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The parts of a file that are not in memory, one after the other, as mincore sees
 * them. Only where residency_prove knows: to others mincore shows every page as in.
 */

#define GAPS_WINDOW 8192 /* pages looked at in one step */

struct gaps {
	uint64_t offset, length; /* the gap, within the range; set by gaps_next */

	int fd;
	uint64_t next, end;          /* what is still to be looked at */
	uint64_t window, window_end; /* the pages of the file that seen[] holds */
	unsigned looks;              /* windows so far */
	unsigned char seen[GAPS_WINDOW];
};

/* Begins with LENGTH bytes from OFFSET of FD. */
void gaps_begin(struct gaps *gaps, int fd, uint64_t offset, uint64_t length);

/*
 * Finds the next gap: 1, 0 where there is none any more, -1 with errno: EINTR where
 * stop_asked, and there is more to look at than a moment takes. A gap that spans two
 * windows comes in two parts.
 */
int gaps_next(struct gaps *gaps);

/* The sum of the gaps in LENGTH bytes from OFFSET into *BYTES; 0, or -1 with errno. */
int gaps_sum(int fd, uint64_t offset, uint64_t length, uint64_t *bytes);

#endif
