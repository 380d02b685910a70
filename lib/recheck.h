/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RECHECK_H
#define HOTSET_RECHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "claims.h"
#include "each.h"

/*
 * A second look, at the end, at the files that were loaded: what came first may have left while
 * the rest came. It loads nothing.
 */

/* Loads of no more files, in all or in a second, are always looked at again: a file takes 3 to 6
 * microseconds (measured, two processors), so that it is a tenth of the time at most. Others are
 * where the kernel counts one of so many bytes as reclaimed. */
#define RECHECK_FILES 16384
#define RECHECK_PART  64

struct recheck_change;

struct recheck {
	void (*changed)(const struct recheck_change *change, void *argument);
	void *argument;

	/* its own */
	struct claims claims;
	uint64_t files, bytes; /* claimed */
	uint64_t beyond;       /* files that there was no memory for */
	uint64_t reclaimed;    /* pages, by the kernel before it all; VMSTAT_UNKNOWN */
	uint64_t start;        /* stop_now */
};

/* A file of which something has left, or more is there. */
struct recheck_change {
	const char *path;
	size_t operand;
	uint64_t before, now; /* bytes in memory */
	uint64_t gone;        /* of the difference: the file is shorter, or another or none now */
	int error;            /* errno of why now is not known, and 0 */
};

void recheck_begin(struct recheck *recheck);

/* FILE, of which RESIDENT bytes are in memory, is to be looked at. */
void recheck_note(struct recheck *recheck, const struct each_file *file, uint64_t resident);

/* Whether so much may have left that it matters. */
bool recheck_is_due(const struct recheck *recheck);

/* Looks, by WORKERS threads, and calls changed, in the caller's thread and in order. As each_run. */
int recheck_run(struct recheck *recheck, unsigned workers);

/* Not where recheck_run has returned 1. */
void recheck_free(struct recheck *recheck);

#endif
