/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_H
#define HOTSET_TRUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Workloads whose page cache hits and misses are known by construction: a file is
 * brought into a known state, mincore confirms it, and every access is counted page
 * by page as it returns.
 */

#define PAGE ((size_t)4096)

/* What must have been counted; shared between the processes of one case. */
struct truth {
	atomic_ullong accesses, misses;
	atomic_ullong unsure; /* pages that calls which were cut off asked for */
};

enum state {
	COLD,
	WARM,
	HALF,      /* the first half is in memory */
	EVERY_4TH, /* every fourth page is */
	MIXED,     /* half of the pages, at random */
};

/* A file of the case, and which of its pages are in memory or have been accessed. */
struct file {
	char path[4096];
	int fd;
	size_t pages; /* of the file as it was made; room for twice as many */
	off_t size;
	enum state state;
	atomic_uchar *cached; /* shared between processes */
};

/* Makes PATH with PAGES pages of data. */
void file_make(struct file *file, const char *path, off_t size);

/* Brings the file into STATE and confirms it; the caller may read through fd then. */
void file_set(struct file *file, enum state state);

/* Whether memory still holds what file_set left; takes the truth from mincore. */
bool file_holds(struct file *file);

/* Whether what was in memory or was accessed is still there; it was evicted in between
 * where not, and the truth is unknown. */
bool file_kept(struct file *file);

/* Bytes OFFSET up to OFFSET + LENGTH of FILE were read. */
void file_accessed(struct file *file, struct truth *truth, off_t offset, ssize_t length);

void file_remove(struct file *file);

/* What of hitratio's figures the truth settles. */
enum checks {
	MISSES = 1,
	HITS = 2,
	EXACT = MISSES | HITS,
	FAULT_MISSES = 4, /* instead of misses: mapped files */
	/*
	 * Nine in ten of what the other two do not settle, and never more than there
	 * were: the kernel reports nothing at all of a read that is cut off at a page
	 * which somebody is just bringing in or writing.
	 */
	MOST = 8,
	/* Where each call knows whether it was cut off: wrong by no more than the pages
	 * that those asked for. One that is not shown may be missing, and the one before
	 * it, if cut off too, is then taken for whole. */
	WHOLE_CALLS = 16,
};

/* What a case works with. */
struct work {
	const char *folder;
	size_t pages;
	struct file file;
	struct file *others; /* further files of the case, in their own states */
	size_t other_count;
	struct truth *truth;
};

struct workload {
	const char *name;
	int checks;
	enum state state;
	void (*prepare)(struct work *work); /* after the file is made; may be NULL */
	void (*run)(struct work *work);
};

extern const struct workload workloads[]; /* ends with a NULL name */

/* Ends the program: the workload itself went wrong. */
_Noreturn void broken(const char *what);

/* Pseudo-random, the same in each run. */
uint32_t draw(uint32_t below);

/* Reads by io_uring: COUNT requests of SIZE bytes at OFFSETS, DEPTH at once; false where the
 * kernel has none. */
struct uring_job {
	const off_t *offsets;
	size_t count, size;
	unsigned depth;
	bool async;
	void (*meanwhile)(struct work *work); /* done while requests go on; may be NULL */
};
bool uring_read(struct work *work, const struct uring_job *job);

#endif
