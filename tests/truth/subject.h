/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_SUBJECT_H
#define HOTSET_TRUTH_SUBJECT_H

/*
 * The processes whose reads are counted: a runner, which reads nothing itself, starts one
 * for each workload. It prepares its state, and waits before the workload and after it.
 */
#include "truth.h"

enum { /* how a subject ends */
	SUBJECT_DONE = 0,
	SUBJECT_SKIPPED = 8,
	SUBJECT_DECAYED = 9, /* the starting state did not last, or what was read */
};

struct runner {
	pid_t pid;
	int to, from;
	int said; /* the latest message */
};

void runner_start(struct runner *runner, struct work *work);

/* Prepares LOAD; false where it has ended already. */
bool runner_prepare(struct runner *runner, const struct workload *load);

/* Runs what was prepared; false where it has ended. */
bool runner_run(struct runner *runner);

/* Ends the workload; returns how. */
int runner_finish(struct runner *runner);

void runner_end(struct runner *runner);

void subject_remove_files(struct work *work);

#endif
