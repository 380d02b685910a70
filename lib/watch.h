/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WATCH_H
#define HOTSET_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "interval.h"
#include "meter.h"
#include "out.h"

/* A run of hitratio: a report each interval, until it is over. */

struct watch {
	struct meter meter;       /* open, for the scope that is to be watched */
	struct out out;           /* open, with a table of interval.h */
	uint64_t interval, count; /* ns, 0: one for all; reports, 0: until stopped */

	/* private */
	struct moment start, last;
	pid_t child;           /* the command's; 0: none, or it has been seen to its end */
	int child_fd, outcome; /* its descriptor; its status, and so ours */
};

/* Watches the machine, a process and its children, or a command from its start to its end.
 * Ends early where stop_asked, and reports what was begun. What goes wrong is said (diag);
 * returns the exit status: that of the command, where there is one. */
int watch_machine(struct watch *watch);
int watch_process(struct watch *watch, pid_t pid);
int watch_command(struct watch *watch, char **command);

#endif
