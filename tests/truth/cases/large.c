/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call that reads more than memory may hold: what it has read is evicted before it
 * returns. */
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases.h"

#define PARTS 1024 /* IOV_MAX */

static void
make_hole(struct work *work, off_t size)
{
	char path[4096];

	snprintf(path, sizeof path, "%.4000s.large", work->file.path);
	file_remove(&work->file);
	close(work->file.fd);
	file_make_sparse(&work->file, path, size);
	file_set(&work->file, COLD);
}

static void
make_1g(struct work *work)
{
	make_hole(work, 1 << 30);
}

static void
make_512m(struct work *work)
{
	make_hole(work, 1 << 29);
}

/* Into the same memory again and again, so that the buffer takes none. */
static void
read_in_one_call(struct work *work)
{
	size_t part = (size_t)work->file.size / PARTS;
	struct iovec parts[PARTS];
	ssize_t n;

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){ buffer, part };
	n = preadv(work->file.fd, parts, PARTS, 0);
	if (n != work->file.size)
		broken("preadv");
	file_accessed(&work->file, work->truth, 0, n);
}

const struct workload large_cases[] = {
	CASE_WITH(NAMED_ONLY | RECLAIM, "1g in one call", EXACT, COLD, make_1g, read_in_one_call),
	CASE_WITH(NAMED_ONLY | RECLAIM, "512m in one call", EXACT, COLD, make_512m,
	    read_in_one_call),
	{ 0 },
};
