/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SAVE_H
#define HOTSET_SAVE_H

#include <stdbool.h>

#include "each.h"
#include "frames.h"
#include "out.h"
#include "residency.h"
#include "snapshot.h"
#include "status.h"

#define SAVE_OWN 4

/* Writes what each.h finds in memory to a snapshot. What fails is reported through diag. A
 * zeroed struct writes none. */
struct save {
	const char *path; /* NULL: none */
	bool strangers;   /* names may not lead to the files: those that do not are left out */
	char *folder;     /* that names are relative to */
	struct stat own[SAVE_OWN]; /* files that will not be what they are now, once all is done */
	size_t own_count;
	struct frames frames;
	struct snapshot_writer writer;
};

/* Begins a snapshot that will take the place of PATH; REPORT is open beside it, and may not take
 * the same place. */
enum status save_begin(struct save *save, const char *path, const struct out *report);

/*
 * Finds what is in memory of FILE, in a worker: part by part, as mincore(2) proves it, which may
 * know less than RESIDENCY says; with the heat where a snapshot is written. -1 with errno.
 */
int save_look(const struct save *save, const struct each_file *file, struct residency *residency,
    struct snapshot_ranges *ranges);

/* Adds a file with what is in memory of it, if anything is. */
void
save_add(struct save *save, const struct each_file *file, const struct snapshot_ranges *ranges);

/* Ends it; where the snapshot is not WHOLE, the one that was there stays. */
enum status save_end(struct save *save, bool whole);

#endif
