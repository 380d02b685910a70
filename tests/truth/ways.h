/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_WAYS_H
#define HOTSET_TRUTH_WAYS_H

/* Ways to read a file, each of which carries out the same jobs. */
#include "truth.h"

/* COUNT requests of SIZE bytes at OFFSETS. */
struct job {
	const off_t *offsets;
	size_t count, size;
	/* io_uring's: DEPTH at once; ASYNC: by its workers; MEANWHILE is done while
	 * requests go on, and may be NULL */
	unsigned depth;
	bool async;
	void (*meanwhile)(struct work *work);
};

void way_pread(struct work *work, const struct job *job);
void way_readv(struct work *work, const struct job *job);
void way_mmap(struct work *work, const struct job *job);
void way_sendfile(struct work *work, const struct job *job);
void way_splice(struct work *work, const struct job *job);
void way_uring(struct work *work, const struct job *job);

/* Touches what JOB asks for through a mapping with FLAGS, and counts the faults. */
void touch_mapping(struct work *work, const struct job *job, bool write, int flags);

/* Preloads by io_uring's workers; not 0 where that fails. */
int uring_fadvise(int fd, off_t at, size_t length);
int uring_madvise(void *address, size_t length);

/* LENGTH bytes by sendfile, to nowhere. */
void send_to_nowhere(struct work *work, off_t from, size_t length);

#endif
