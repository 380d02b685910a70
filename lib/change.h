/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CHANGE_H
#define HOTSET_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "num.h"
#include "out.h"
#include "snapshot.h"

/* What came into memory and what went since a snapshot: sums over files, and the row made
 * of them. */

enum change_state {
	CHANGE_SAME,    /* the same file */
	CHANGE_CHANGED, /* another one, or written: parts then and now do not compare */
	CHANGE_NEW,     /* not in the snapshot */
	CHANGE_GONE,    /* in the snapshot, and no more anywhere else */
	CHANGE_UNKNOWN, /* what is in memory of it */
	CHANGE_STATES,
};

/* Bytes of the files themselves, which may end within a page. */
struct change {
	uint64_t files[CHANGE_STATES];
	uint64_t then, now;          /* of all but the unknown */
	uint64_t stayed, came, went; /* of those that compare: neither CHANGED nor UNKNOWN */
	uint64_t errors;
};

extern const struct out_table change_table;

/* What a file comes to: THEN is NULL where the snapshot has none; NOW is what is in memory of
 * it. Of both only what lies within RANGE counts. */
void change_compare(struct change *change, const struct snapshot_file *then,
    const struct snapshot_file *now, const struct num_range *range);

/* A file of the snapshot that is no more. */
void
change_gone(struct change *change, const struct snapshot_file *then, const struct num_range *range);

void change_add(struct change *sum, const struct change *part);

/* Whether anything is to be told of it. */
bool change_differs(const struct change *change);

/* What it says of each field, into VALUES (as many as the table has fields). */
void change_values(const struct change *sum, const char *path, struct out_value *values);

#endif
