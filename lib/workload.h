/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WORKLOAD_H
#define HOTSET_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Accesses to a file whose hits and misses are known by construction: which of its pages
 * are in memory is brought about, confirmed by mincore(2), and kept book of page by page.
 */

#define WORKLOAD_BYTES (4U << 20) /* size of the file */

/* A file that has no name any more, and may be read and written by children too. */
struct workload_file {
	int fd, null; /* null: /dev/null */
	size_t page, pages;
	struct workload_book {
		uint64_t hits, misses;
		int error;              /* errno of what failed in a child */
		unsigned char cached[]; /* 1: the page is in memory, or has been read */
	} * book;
};

/* Makes it in FOLDER. -1 with errno: ENOSPC also where FOLDER has not enough room, EBUSY where
 * the kernel does not drop its pages from memory. */
int workload_open(struct workload_file *file, const char *folder);
void workload_close(struct workload_file *file);

struct workload {
	const char *name; /* NULL ends the list */
	bool mapped;      /* its misses are those of faults; hits are not known */

	/* Brings the file into the state that the workload starts in. -1 with errno: EBUSY as
	 * above. */
	int (*prepare)(struct workload_file *file);

	/* Reads it, and keeps book; in a child. -1 with errno. */
	int (*run)(struct workload_file *file);
};

extern const struct workload workloads[];

/* Whether all is in memory that was or has been read: if not, it was evicted meanwhile, and
 * nobody knows when. -1 with errno. */
int workload_kept(const struct workload_file *file);

#endif
