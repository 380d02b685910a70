/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HOLDERS_H
#define HOTSET_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which processes have a file open or mapped. */

#define HOLDERS_NAMED   3
#define HOLDERS_COMMAND 64

struct holders {
	uint64_t device, inode; /* as stat(2) has them: the file asked about */
	size_t count;           /* processes, but for ourselves */
	struct holders_one {
		pid_t pid;
		char command[HOLDERS_COMMAND]; /* its name, hostile; "" where it has gone */
	} named[HOLDERS_NAMED];                /* the first of them */
	pid_t last;                            /* found, in the look at hand */
};

/*
 * Looks through all processes once for COUNT files. *COMPLETE: these are all that there are, as
 * nothing is hidden from us. -1 with errno.
 */
int holders_find(struct holders *files, size_t count, bool *complete);

#endif
