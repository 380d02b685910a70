/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: requests that go on while others do, in other tasks, and beside other calls. */
#include <fcntl.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

#define REQUESTS 1000

static void
draw_offsets(const struct work *work, off_t *offsets, size_t size)
{
	for (int i = 0; i < REQUESTS; i++)
		offsets[i] = (off_t)draw((uint32_t)(work->file.size / (off_t)size)) * (off_t)size;
}

static void
by_workers(struct work *work)
{
	off_t offsets[REQUESTS];

	draw_offsets(work, offsets, PAGE);
	way_uring(work, &(struct job){ offsets, REQUESTS, PAGE, .depth = 32, .async = true });
}

/* Each begins where those before it have not ended yet. */
static void
overlapping_by_workers(struct work *work)
{
	off_t offsets[REQUESTS];
	size_t pages = 64;

	for (size_t i = 0; i < REQUESTS; i++)
		offsets[i] = (off_t)(i % (work->pages - pages) * PAGE);
	way_uring(work,
	    &(struct job){ offsets, REQUESTS, pages * PAGE, .depth = 32, .async = true });
}

static void
random_100k(struct work *work)
{
	off_t offsets[REQUESTS];

	draw_offsets(work, offsets, 25 * PAGE);
	way_uring(work, &(struct job){ offsets, REQUESTS, 25 * PAGE, .depth = 32 });
}

static void
few_preads(struct work *work)
{
	for (int i = 0; i < 8; i++)
		read_at(work, &work->file, 3 * PAGE, (off_t)draw((uint32_t)work->file.size));
}

/* io_uring goes on with its requests as the task returns from another call. */
static void
beside_pread(struct work *work)
{
	off_t offsets[640];

	for (int i = 0; i < 640; i++)
		offsets[i] = (off_t)draw((uint32_t)work->pages - 8) * (off_t)PAGE;
	way_uring(work,
	    &(struct job){ offsets, 640, 8 * PAGE, .depth = 32, .meanwhile = few_preads });
}

/* Reads past the cache are no accesses. */
static void
direct(struct work *work)
{
	off_t offsets[REQUESTS];
	int fd = open(work->file.path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		skip(work, "the file system has no O_DIRECT");
	close(work->file.fd);
	work->file.fd = fd;
	draw_offsets(work, offsets, PAGE);
	way_uring(work, &(struct job){ offsets, REQUESTS, PAGE, .depth = 8 });
	work->truth->accesses = work->truth->misses = 0;
	file_holds(&work->file);
}

const struct workload uring_cases[] = {
	CASE("cold io_uring 4k random, async", EXACT, COLD, NULL, by_workers),
	CASE("cold io_uring overlapping, async", EXACT, COLD, NULL, overlapping_by_workers),
	CASE("cold io_uring 100k random", EXACT, COLD, NULL, random_100k),
	CASE("half io_uring 100k random", EXACT, MIXED, NULL, random_100k),
	CASE("warm io_uring 100k random", EXACT | STALLS, WARM, NULL, random_100k),
	CASE("io_uring and O_DIRECT", EXACT, MIXED, NULL, direct),
	CASE("io_uring beside pread", EXACT, MIXED, NULL, beside_pread),
	{ 0 },
};
