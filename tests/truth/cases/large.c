/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call that reads more than memory may hold: what it has read is evicted before it
 * returns. */
#include <fcntl.h>
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

#define GROUP  64    /* pages that have one entry in the ledger */
#define GROUPS 16384 /* the least that a ledger has room for */

/* A file of three times as many groups as the ledger of a small machine has room for. */
static void
make_many_groups(struct work *work)
{
	struct file *other = add_others(work, 1);
	char path[4096];

	snprintf(path, sizeof path, "%.4000s.groups", work->file.path);
	file_make_sparse(other, path, (off_t)GROUPS * 3 * GROUP * (off_t)PAGE);
	file_set(other, COLD);
	if (posix_fadvise(other->fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken("fadvise");
}

/* One page of each of its groups, which leaves an entry without bits; those of the case's file
 * have some, which stay. */
static void
read_many_groups(struct work *work)
{
	for (off_t at = 0; at < work->file.size; at += GROUP * (off_t)PAGE)
		for (int i = 0; i < 4; i++)
			read_at(work, &work->file, PAGE, at + i * (off_t)PAGE);
	for (size_t group = 0; group < (size_t)GROUPS * 3; group++) {
		read_at(work, &work->others[0], PAGE, (off_t)(group * GROUP * PAGE));
		if (group % 1024 == 0)
			usleep(10000); /* for hitratio to make room */
	}
	read_sequential(work, 32 * PAGE);
}

const struct workload large_cases[] = {
	CASE_WITH(NAMED_ONLY | RECLAIM, "1g in one call", EXACT, COLD, make_1g, read_in_one_call),
	CASE_WITH(NAMED_ONLY | RECLAIM, "512m in one call", EXACT, COLD, make_512m,
	    read_in_one_call),
	/* only where memory is small are there more than the ledger has room for */
	CASE_WITH(NAMED_ONLY | LOOKED_AT, "more groups than the ledger has room for", EXACT, COLD,
	    make_many_groups, read_many_groups),
	{ 0 },
};
