/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_CASES_H
#define HOTSET_TRUTH_CASES_H

/* The workloads, by kind: a table each, which ends with a NULL name. */
#include "truth.h"

#define CASE_WITH(f, n, c, s, p, r)                                                                \
	{                                                                                          \
		.name = (n), .checks = (c), .state = (s), .prepare = (p), .run = (r), .flags = (f) \
	}
#define CASE(n, c, s, p, r) CASE_WITH(0, n, c, s, p, r)

extern const struct workload read_cases[];    /* calls that read, and how they may end */
extern const struct workload uring_cases[];   /* io_uring */
extern const struct workload mapped_cases[];  /* mapped files, programs */
extern const struct workload written_cases[]; /* what came in by other ways than reads */
extern const struct workload shared_cases[];  /* several processes */
extern const struct workload frozen_cases[];  /* what befalls a system meanwhile */
extern const struct workload unmounted_cases[];
extern const struct workload processor_cases[];
extern const struct workload attached_cases[]; /* what goes on as hitratio starts */
extern const struct workload large_cases[];    /* calls of more than memory holds */

/* {4k random, 128k, 1m sequential} x {cold, warm, half} x ways to read x {readahead, none}, and
 * beside a writer. */
const struct workload *product_cases(void);

/* Patterns that several kinds use. */
ssize_t read_at(struct work *work, struct file *file, size_t size, off_t offset);
void read_sequential(struct work *work, size_t size);
void read_random_4k(struct work *work);

/* A prepare: another file of the same size, in memory. */
void make_other_warm(struct work *work);

/* A child that overwrites a byte again and again in pages of the case's first other file, and
 * in those of its file that were in memory at first. */
pid_t start_writer(struct work *work);
void end_writer(pid_t writer);

#define BUFFER (1 << 20)
extern char buffer[BUFFER];

#endif
