/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SAVE_H
#define HOTSET_SAVE_H

#include <stdbool.h>

#include "each.h"
#include "snapshot.h"
#include "status.h"

/* Writes what each.h finds in memory to a snapshot. What fails is reported through diag. A
 * zeroed struct writes none. */
struct save {
	const char *path; /* NULL: none */
	char *folder;     /* that names are relative to */
	struct snapshot_writer writer;
};

/* Begins a snapshot that will take the place of PATH. */
enum status save_begin(struct save *save, const char *path);

/* Adds a file with what is in memory of it, if anything is. */
void
save_add(struct save *save, const struct each_file *file, const struct snapshot_ranges *ranges);

/* Ends it; where the snapshot is not WHOLE, the one that was there stays. */
enum status save_end(struct save *save, bool whole);

#endif
