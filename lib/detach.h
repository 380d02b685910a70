/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DETACH_H
#define HOTSET_DETACH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Goes on in the background, as a process of a session of its own that init takes over. Who
 * called waits until the start is over, and learns how it went: until then messages still
 * reach them, and where they end before, we are sent SIGTERM.
 */
struct detach {
	int caller;     /* a socket; -1: nobody waits */
	int *inherited; /* descriptors of the caller's */
	size_t count;
};

/*
 * Forks: before threads are started, and before stop_catch, whose time limit a child does
 * not have. Returns 0 in the process that goes on. In the one that was called, returns 1 when
 * that one says how its start went, and sets *STATUS, STATUS_FAILED where it ended without a
 * word. -1 with errno where nothing was started.
 */
int detach_begin(struct detach *detach, int *status);

/*
 * Lets go of the caller's terminal and files: standard input, output and error are /dev/null
 * then, what else it had open is closed. Unless STAY, of the working folder, too, which is /
 * then. -1 with errno.
 */
int detach_settle(struct detach *detach, bool stay);

/* Tells the caller STATUS, which it ends with. -1 with errno: EPIPE where it is gone. Once. */
int detach_tell(struct detach *detach, int status);

#endif
