/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BULLETIN_H
#define HOTSET_BULLETIN_H

#include "opts.h"
#include "out.h"
#include "replace.h"

/*
 * A report that is given again and again, by one that must not wait for who reads it. Where it
 * cannot be written, or to a stream that takes nothing, it is left out, and tried again the next
 * time.
 */
struct bulletin {
	struct out out; /* for the rows, after bulletin_begin */

	/* its own */
	FILE *memory; /* where rows go first */
	char *text;
	size_t length;
	struct replace file; /* without a path where reports go to a stream */
	int fd;              /* of that */
	bool failed, cut;
};

/* With what COMMON says, to the descriptor FD where that names no file. -1 with errno. */
int bulletin_open(struct bulletin *bulletin, const struct out_table *table,
    const struct opts_common *common, int fd);

/* Each report: before its rows, and after, RESULT being theirs: waits PATIENCE ns at most for who
 * reads a stream, or a pipe. -1 with errno, EAGAIN where it took not all of it. */
void bulletin_begin(struct bulletin *bulletin);
int bulletin_end(struct bulletin *bulletin, int result, uint64_t patience);

/* As out_explain. */
int bulletin_explain(const struct bulletin *bulletin);

/* Where it goes, for a message. */
const char *bulletin_name(const struct bulletin *bulletin);

void bulletin_close(struct bulletin *bulletin);

#endif
