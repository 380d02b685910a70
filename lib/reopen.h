/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REOPEN_H
#define HOTSET_REOPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "keeper.h"
#include "preload.h"

/* How a file of the roster is opened again, and read: aside (aside.h), since that may hang. */

struct reopen {
	char *path;
	bool named, follow; /* by the user, who means a link or a block device as well */
	struct num_range range;
	uint64_t most; /* bytes that a file may have */

	/* what has been opened: 1; 0 where nothing is there that can be pinned, of which STATUS
	 * tells, if anything is; -1 with ERROR */
	int opened, error;
	int fd;
	struct stat status;
	uint64_t offset, end; /* the selected range, bytes */
	bool layered;         /* on overlayfs */

	uint64_t from, to; /* bytes to be read, of whole pages from the first */
	bool holes;        /* there are some, and nothing was read */
	struct preload loaded;
};

/* What of it shall be pinned. */
struct pin_what reopen_what(const struct reopen *again);

/*
 * Opens PATH, which it frees; NAMED: the user did, and means a link or a block device as well.
 * NULL where there is no memory, and then all is looked at again, or where a thread hangs.
 */
struct reopen *reopen_begin(struct keeper *keeper, char *path, bool named);

/* Reads bytes FROM up to TO, of whole pages from the first, unless there are holes; false where a
 * thread hangs. */
bool reopen_load(struct keeper *keeper, struct reopen *again, uint64_t from, uint64_t to);

/* Not where a thread hangs: what it uses stays. */
void reopen_end(struct reopen *again);

#endif
