/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pagemap.h"
#include "residency.h"

#define AROUND 16 /* pages that a fault maps, if they are in memory */
#define READ   (sizeof((struct frames_window){ 0 }.flags) / sizeof(uint64_t))

#define FLAG(name) (1ULL << KPF_##name)

void
frames_begin(struct frames *frames)
{
	frames->pagemap = pagemap_open();
	frames->flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	frames->scratch = memfd_create("hotset", MFD_CLOEXEC);
	frames->known = frames->pagemap >= 0 && frames->flags >= 0 && frames->scratch >= 0 &&
	    pagemap_tells(frames->pagemap);
}

/*
 * Has the page mapped, by a write(2) from it: should it have been cut off meanwhile, that
 * fails where an access of our own would be a SIGBUS. (MADV_POPULATE_READ and what else goes
 * through get_user_pages marks pages as accessed.)
 */
static void
touch(struct frames_window *window, size_t at)
{
	char *address = window->map + at * residency_page_size();
	unsigned char in;

	/* it may have gone from memory, and must not be read by this */
	if (mincore(address, 1, &in) == 0 && (in & 1) &&
	    pwrite(window->frames->scratch, address, 1, 0) < 0) {
		/* then it stays unknown */
	}
}

/* Finds the frames of COUNT pages, which one fault may map all. */
static void
find_frames(struct frames_window *window, size_t at, size_t count)
{
	for (size_t end = at + count; at < end; at++) {
		if (window->frame[at])
			continue;
		touch(window, at);
		pagemap_frames(window->frames->pagemap, window->map + at * residency_page_size(),
		    window->frame + at, end - at);
	}
}

uint64_t
frames_flags(struct frames_window *window, uint64_t frame)
{
	if (frame < window->first || frame - window->first >= window->valid) {
		window->first = frame;
		window->valid = pagemap_numbers(window->frames->flags, frame, window->flags, READ);
	}
	return window->valid ? window->flags[frame - window->first] : FLAG(NOPAGE);
}

/* Folios lie as their size has it. */
uint64_t
frames_head(struct frames_window *window, uint64_t frame)
{
	for (uint64_t size = 2; size <= 1 << 20; size *= 2) {
		uint64_t head = frame & ~(size - 1);

		if (frames_flags(window, head) & FLAG(COMPOUND_HEAD))
			return head;
	}
	return frame;
}

void
frames_look(struct frames_window *window, const struct frames *frames, int fd, uint64_t offset,
    size_t bytes)
{
	*window = (struct frames_window){ .frames = frames,
		.count = residency_pages(offset, bytes),
		.bytes = bytes };
	window->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (window->map == MAP_FAILED)
		return;
	madvise(window->map, bytes, MADV_RANDOM); /* nothing is read ahead */
	for (size_t at = 0; at < window->count; at += AROUND)
		find_frames(window, at, window->count - at < AROUND ? window->count - at : AROUND);
}

/* Since Linux 6.3 MADV_RANDOM keeps munmap(2) from marking pages as accessed; before, this. */
void
frames_look_away(struct frames_window *window)
{
	if (window->map == MAP_FAILED)
		return;
	madvise(window->map, window->bytes, MADV_SEQUENTIAL);
	munmap(window->map, window->bytes);
}

void
frames_end(struct frames *frames)
{
	if (frames->pagemap >= 0)
		close(frames->pagemap);
	if (frames->flags >= 0)
		close(frames->flags);
	if (frames->scratch >= 0)
		close(frames->scratch);
	*frames = (struct frames){ .pagemap = -1, .flags = -1, .scratch = -1 };
}
