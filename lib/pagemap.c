/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include "residency.h"

#define PRESENT (1ULL << 63) /* the page is mapped */
#define FRAME   ((1ULL << 55) - 1)

int
pagemap_open(void)
{
	return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

size_t
pagemap_numbers(int fd, uint64_t first, uint64_t *numbers, size_t count)
{
	ssize_t n = pread(fd, numbers, count * sizeof *numbers, (off_t)(first * sizeof *numbers));

	return n < 0 ? 0 : (size_t)n / sizeof *numbers;
}

void
pagemap_frames(int pagemap, const char *address, uint64_t *frames, size_t count)
{
	uint64_t first = (uint64_t)(uintptr_t)address / residency_page_size();
	size_t got = pagemap_numbers(pagemap, first, frames, count);

	for (size_t i = 0; i < count; i++)
		frames[i] = i < got && (frames[i] & PRESENT) ? frames[i] & FRAME : 0;
}

bool
pagemap_tells(int pagemap)
{
	volatile char here = 0;
	uint64_t frame;

	(void)here;
	pagemap_frames(pagemap, (const char *)&here, &frame, 1);
	return frame != 0;
}
