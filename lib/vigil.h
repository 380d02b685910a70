/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VIGIL_H
#define HOTSET_VIGIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inquiry.h"
#include "keeper.h"
#include "notify.h"

/*
 * The wait while files are pinned: what is pinned is tended, who asks is answered, the
 * service manager hears that we are alive.
 */
struct vigil {
	struct keeper *keeper;
	struct inquiry *inquiry;
	const struct notify *notify;
	uint64_t until; /* stop_now at which it ends; UINT64_MAX: never */
	pid_t command;  /* with whose end it ends; -1: none */
	int signals;    /* of stop_divert, of which it is told */

	/* For an inquiry (inquiry.h); for SIGUSR1; for SIGHUP. The last two return an exit
	 * status: with another than STATUS_DONE it ends. */
	int (*answer)(enum out_format format, FILE *stream, void *argument);
	int (*report)(void *argument);
	int (*reload)(void *argument);
	void *argument;
};

enum vigil_end {
	VIGIL_STOPPED, /* stop_asked */
	VIGIL_OVER,    /* the time is */
	VIGIL_ENDED,   /* the command has; *STATUS is what waitpid(2) said of it */
	VIGIL_FAILED,  /* *STATUS is an exit status, and it was said why */
};

enum vigil_end vigil_keep(struct vigil *vigil, int *status);

#endif
