/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BULLETIN_H
#define HOTSET_BULLETIN_H

#include "opts.h"
#include "out.h"

/*
 * A report that is given again and again, by one that must not wait for who reads it. Where it
 * cannot be written, or to a stream that takes nothing, it is left out, and tried again the next
 * time.
 */
struct bulletin {
	struct out out; /* for the rows, after bulletin_begin */

	/* its own */
	const struct out_table *table;
	const struct opts_common *common;
	FILE *memory; /* where rows go that are for a stream; NULL: they go to a file */
	char *text;
	size_t length;
	int fd; /* of the stream */
	bool failed, cut;
};

/* As out_open, with what COMMON says, to the descriptor FD where that names no file. */
int bulletin_open(struct bulletin *bulletin, const struct out_table *table,
    const struct opts_common *common, int fd);

/* Each report: before its rows, and after, RESULT being theirs: waits PATIENCE ns at most for who
 * reads the stream. -1 with errno, EAGAIN where it took not all of it. */
int bulletin_begin(struct bulletin *bulletin);
int bulletin_end(struct bulletin *bulletin, int result, uint64_t patience);

/* Where it goes, for a message. */
const char *bulletin_name(const struct bulletin *bulletin);

void bulletin_close(struct bulletin *bulletin);

#endif
