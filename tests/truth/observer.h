/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_OBSERVER_H
#define HOTSET_TRUTH_OBSERVER_H

/*
 * The hitratio that counts. Its start costs more than most workloads, so one counts all of
 * a run, in short intervals, and is stopped between them: it takes figures before a
 * workload and after it, at rest, and each workload has the sum of its own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct figures {
	unsigned long long hits, misses, faults, fault_misses, mapped, fills, lost;
	unsigned long long stalls, dirties;
	bool has_stalls; /* whether this tier counts them */
	char tier[16];
};

struct observer {
	pid_t pid;
	int from;
	bool stopped;
	char text[4096]; /* read and not yet a whole line */
	size_t length;
	unsigned rows; /* begun since somebody set it to 0 */
	struct figures figures;
	bool balanced; /* what was filled is somewhere, by its own account at its end */
	unsigned long long uncounted; /* events, by its account */
	char account[4096];
	char complaint[4096]; /* the last line that says what went wrong */
};

/* Starts "HITRATIO -p TARGET", with --tier=TIER unless that is NULL; counting and stopped when
 * this returns true. */
bool
observer_start(struct observer *observer, const char *hitratio, const char *tier, pid_t target);

/* Figures up to now; false where hitratio has ended. It goes on looking if TO_LOOK. */
bool observer_take(struct observer *observer, bool to_look);

/* Ends it; sets BALANCED and ACCOUNT. Returns its status as waitpid has it. */
int observer_end(struct observer *observer);

#endif
