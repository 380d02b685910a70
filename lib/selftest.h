/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SELFTEST_H
#define HOTSET_SELFTEST_H

#include "out.h"
#include "probe.h"
#include "status.h"
#include "workload.h"

/* Whether probes count the truth on this very machine: what they see of a child that reads
 * a file in ways whose hits and misses are known. */

struct selftest {
	struct probe *probe;
	struct workload_file file;
};

struct selftest_result {
	const struct workload *workload;
	enum status status; /* STATUS_DONE: exact; STATUS_FAILED: differs; else nobody can tell */
	int error;          /* of STATUS_UNKNOWN: errno; 0: pages were evicted meanwhile */
	uint64_t truth_hits, truth_misses, hits, misses; /* not of STATUS_UNKNOWN */
};

extern const struct out_table selftest_table;

/* By PROBE, opened to follow a target and not started yet, with a file in FOLDER. -1 with
 * errno. */
int selftest_open(struct selftest *test, struct probe *probe, const char *folder);
void selftest_close(struct selftest *test);

/* Runs WORKLOAD. Where stop_asked, nobody can tell. */
void selftest_run(struct selftest *test, const struct workload *workload,
    struct selftest_result *result);

/* Adds the row of RESULT to OUT; as out_row. */
int
selftest_row(struct out *out, const struct selftest *test, const struct selftest_result *result);

#endif
