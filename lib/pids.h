/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PIDS_H
#define HOTSET_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "opts.h"
#include "select.h"

/* Which processes: by number, those of a cgroup, or all, as /proc numbers them. */

struct pids_options {
	struct opts_words pids, cgroups;
	bool all;
};

extern const struct opts_option pids_options[];

/* Some processes: one, or a cgroup's, or where it is neither, all. */
struct pids {
	char *name; /* "pid:1234", "cgroup:/x" or "all" */
	pid_t pid;
	const char *cgroup;
};

/* Whether the options ask for any. */
bool pids_asked(const struct pids_options *options);

/* Whether that goes with how files are selected and COUNT operands: reports what does not, and
 * returns STATUS_UNKNOWN for it, else STATUS_DONE. */
int pids_check(const struct pids_options *options, const struct select *select, size_t count);

/* Those that the options ask for, *COUNT of them, in the order of pids, cgroups, all; NULL with
 * ENOMEM. */
struct pids *pids_choose(const struct pids_options *options, size_t *count);
void pids_free(struct pids *all, size_t count);

/*
 * Calls VISIT for each process. -1 with errno: ESRCH where there is no such process, ENOENT
 * where there is no such cgroup.
 */
int pids_visit(const struct pids *pids, void (*visit)(pid_t pid, void *argument), void *argument);

#endif
