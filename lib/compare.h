/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_COMPARE_H
#define HOTSET_COMPARE_H

#include "change.h"
#include "each.h"
#include "past.h"
#include "residency.h"
#include "select.h"
#include "status.h"

/* Compares what each.h finds in memory with a snapshot. */
struct compare {
	const char *path; /* of the snapshot, NULL: there is none */
	const struct select *select;
	char *folder; /* that names are relative to */
	struct past past;
};

/* Loads the snapshot PATH; reports through diag why not. */
enum status compare_begin(struct compare *compare, const char *path, const struct select *select);

/* The paths of the snapshot's files, as operands; NULL with ENOMEM. To be freed. */
char **compare_paths(const struct compare *compare, size_t *count);

/* What a file comes to, whose RANGES are in memory now. Returns 0, or -1 with errno. */
int compare_file(struct compare *compare, const struct each_file *file,
    const struct residency *residency, const struct snapshot_ranges *ranges, struct change *change);

/* Takes what became of a file, named below what it was looked for by. */
typedef void compare_found(const char *path, const struct change *change, void *argument);

/*
 * All has been seen that is now at NAME, or below it: looks for what the snapshot has there and
 * is no more, each once. Returns whether the snapshot has anything there, or -1 with errno.
 */
int compare_gone(struct compare *compare, const char *name, compare_found *found, void *argument);

#endif
