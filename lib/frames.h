/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FRAMES_H
#define HOTSET_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The page frames of parts of a file that are in memory, and their flags in /proc/kpageflags,
 * which are for root only. Looking brings nothing in, and does not look like use of the pages.
 */

#define FRAMES_PAGES 512 /* mapped at a time: what one page table holds */

struct frames {
	bool known;                  /* whether the kernel tells us */
	int pagemap, flags, scratch; /* descriptors */
};

/* A zeroed struct knows nothing, and neither does one for which this fails. */
void frames_begin(struct frames *frames);
void frames_end(struct frames *frames);

/* A part of a file, and the frames of its pages. */
struct frames_window {
	const struct frames *frames;
	size_t count;                 /* pages */
	uint64_t frame[FRAMES_PAGES]; /* 0: not in memory, or not known */

	char *map;
	size_t bytes;

	/* the flags read last: those of the frames from FIRST on */
	uint64_t first, flags[16];
	size_t valid;
};

/* Maps BYTES of FD from OFFSET, a page boundary, and finds their frames. */
void frames_look(struct frames_window *window, const struct frames *frames, int fd, uint64_t offset,
    size_t bytes);

/* Ends the mapping; what was found stays. */
void frames_look_away(struct frames_window *window);

/* The flags (KPF_...) of a frame; KPF_NOPAGE alone where they cannot be read. */
uint64_t frames_flags(struct frames_window *window, uint64_t frame);

/* The frame that the folio of FRAME, which is a tail of it, begins with. */
uint64_t frames_head(struct frames_window *window, uint64_t frame);

#endif
