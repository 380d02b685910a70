/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OPENFILES_H
#define HOTSET_OPENFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "each.h"
#include "links.h"
#include "pids.h"
#include "select.h"

/*
 * Finds the regular files that processes have open or mapped, each once. They are reached by the
 * links of /proc/PID, not by their names: deleted ones, memfds and those of other mount
 * namespaces too. Nothing is opened but to be looked at (O_PATH), so that no device or FIFO
 * notices; and it is passed on open, as its process may end before a worker comes to it, and
 * another one that shares it is not asked again. Memory is for the set of the files found.
 */

struct openfiles_hidden {
	uint64_t processes; /* that we may not look at */
	uint64_t of;        /* all those that are there */
	uint64_t files;     /* mapped, and of no name that leads there */
	bool repeated;      /* some file was found before */
};

struct openfiles {
	const struct select *select;
	struct pids *groups;             /* of processes */
	char **names;                    /* theirs, for each_run */
	struct openfiles_hidden *hidden; /* of each */
	size_t count;
	pid_t self;          /* in /proc */
	struct links seen;   /* files found */
	struct links beyond; /* files in hidden, as maps numbers them */
};

/* Sets it up; -1 with errno: ENOENT where there is no /proc. */
int openfiles_begin(struct openfiles *openfiles, const struct pids_options *options,
    const struct select *select);

/* Finds those of group NUMBER, but for what was found already: a find of each. */
void openfiles_find(struct openfiles *openfiles, size_t number, struct each_run *to);

/* Reports what is hidden of a group, if anything. */
void openfiles_explain(const struct openfiles *openfiles, size_t number);

void openfiles_end(struct openfiles *openfiles);

#endif
