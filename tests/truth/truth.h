/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_H
#define HOTSET_TRUTH_H

/*
 * Workloads whose page cache hits and misses are known by construction: a file is
 * brought into a known state, mincore confirms it, and every access is counted page
 * by page as it returns.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "file.h"

/* What must have been counted; shared between the processes of one case. */
struct truth {
	atomic_ullong accesses, misses; /* of reads */
	atomic_ullong unsure;           /* pages that calls which were cut off asked for */
	atomic_ullong borders;          /* where a piece of a sendfile may end within a page */
	atomic_ullong touched;          /* first touches, by a mapping, of absent pages */
	atomic_ullong fault_misses;     /* of these, with a fault of their own */
	atomic_ullong mapped;           /* absent pages that a mapping has got without */
	atomic_ullong faults, major;    /* by getrusage */
	atomic_bool order_0;            /* no page that was touched is of a large folio */
	atomic_ullong dirtied;          /* pages that writes found clean */
	atomic_ullong filled;           /* pages in memory after, but not before */
	atomic_ullong fills;            /* not a truth: what was counted, to compare with it */
	/*
	 * Pages of a call, where many calls waited at once. Where functions are seen by kprobes,
	 * a kernel before 7.2 shows the ends of no more than some of them (of as many as it
	 * has processors, or 10). What is missing then hitratio must have noticed: at its end
	 * it says so.
	 */
	atomic_ullong many_wait;
	char reason[200]; /* of a case that was skipped, or whose state did not last */
};

/* What of hitratio's figures the truth settles. */
enum checks {
	MISSES = 1,
	HITS = 2,
	EXACT = MISSES | HITS,
	/*
	 * Where there are but tracepoints, nine in ten, and never more than there were: the
	 * kernel reports nothing at all of a read that is cut off at a page which
	 * somebody is just bringing in or writing.
	 */
	MOST = 4,
	/* Where there are but tracepoints, and each call knows whether it was cut off: wrong by
	 * no more than the pages that those asked for. One that is not shown may be missing, and
	 * the one before it, if cut off too, is then taken for whole. */
	WHOLE_CALLS = 8,
	/* Without readahead every miss found no page, and of what is in memory none did. */
	STALLS = 16,
	FILLS = 32, /* what is in memory after, and was not before */
	/* Mapped files. */
	FAULTS = 64,
	FAULT_MISSES = 128,
	/* Where functions say what was read, a piece that was read and could not be sent is counted
	 * too: misses may be more, by UNSURE at most. */
	STANDING = 1024,
	/*
	 * A program that is started: which of its pages have had a fault, and which were mapped
	 * around one, it cannot say. But a major fault brought its page in or waited for it, so
	 * it is a miss; every miss is a fault; and what was touched was mapped by one or
	 * the other.
	 */
	FAULT_BOUND = 256,
	/*
	 * With readahead: each touch knows whether it had a fault, and the mapping what it has
	 * got in the end. Where there are but tracepoints this is a FAULT_BOUND: which page
	 * a fault was for they do not say before it was looked up, nor that a fault maps
	 * all of a large folio (finish_fault, 6.18).
	 */
	AROUND = 2048,
	/* A program that is started: how often the kernel looks at its head depends on the
	 * kernel, once or twice. */
	HEAD_BOUND = 512,
	DIRTIES = 4096,
	/* Where there are but tracepoints, a splice whose last page had to be brought in may go
	 * unseen: so many pages may be missing as those gave (UNSURE), and not half of all. */
	UNSEEN_CALLS = 8192,
	/* The pieces of a sendfile end on borders of pages, but before 6.5 not always where
	 * folios are large (generic_file_splice_read): then such a page counts twice. */
	PIECES = 16384,
};

enum flags {
	NAMED_ONLY = 1, /* runs only where it is asked for by its name */
	RECLAIM = 2,    /* that pages are reclaimed meanwhile is the point, or does no harm */
	LOOKED_AT = 4,  /* hitratio takes figures while it runs, not only at rest */
};

/* What a case works with. */
struct work {
	const struct workload *load;
	const char *hitratio, *tier; /* tier NULL: the best */
	const char *folder;
	size_t pages;
	struct file file;
	struct file *others; /* further files of the case, in their own states */
	size_t other_count;
	struct truth *truth;
	off_t map_start; /* where in the file mappings begin */
	bool map_random; /* mappings go without readahead */
};

struct workload {
	const char *name;
	int checks;
	enum state state;
	void (*prepare)(struct work *work); /* after the file is made; may be NULL */
	void (*run)(struct work *work);
	int flags;
	const struct product *product; /* NULL for all but those of cases/product.c */
};

/* Ends the program: the workload itself went wrong. */
_Noreturn void broken(const char *what);

/* Leaves REASON for who reports the case. */
void explain(struct work *work, const char *reason);

/* Ends the case: it cannot be done here. */
_Noreturn void skip(struct work *work, const char *reason);

/* Writes TEXT into the file PATH, one of the kernel's; false where that cannot be done. */
bool put_text(const char *path, const char *text);

/* Adds COUNT further files, not yet made. */
struct file *add_others(struct work *work, size_t count);

/* Pseudo-random, the same in each run. */
uint32_t draw(uint32_t below);

/* Bytes OFFSET up to OFFSET + LENGTH of FILE were read. */
void file_accessed(struct file *file, struct truth *truth, off_t offset, ssize_t length);

/* A page of FILE was touched through a mapping, with a fault or without. */
void file_touched(struct file *file, struct truth *truth, size_t page, bool fault);

#endif
