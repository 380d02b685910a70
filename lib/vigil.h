/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VIGIL_H
#define HOTSET_VIGIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "holding.h"
#include "service.h"

/*
 * The wait while files are pinned: what is pinned is tended, who asks is answered, the service
 * manager hears that we are alive; and so also while what takes long goes on, in the breaths of
 * that (keeper.h). It owns the command, if there is one, with whose end it ends, and passes
 * signals on to it.
 */
struct vigil {
	struct holding *holding;
	struct service *service;

	/* its own */
	pid_t command; /* -1: none, or it has ended */
	int go;        /* of child_start, while it waits */
	int pidfd;
	int status; /* what the command ended with; -1: nothing yet */
	int set;    /* epoll(7); -1: none */
	uint64_t until;
	bool begun;                         /* the start is over */
	bool reload;                        /* is asked for */
	uint64_t alive, extended, reminded; /* when the manager is to hear that next */
};

/* For holding.breathe, of the struct vigil ARGUMENT. */
bool vigil_breathe(void *argument);

void vigil_begin(struct vigil *vigil, struct holding *holding, struct service *service);

/* Starts ARGV, which waits for vigil_keep; -1, said why. */
int vigil_start(struct vigil *vigil, char **argv);

/*
 * All is pinned: keeps it so, until a signal, a time limit, or TIME ns (UINT64_MAX: none) are over;
 * with a command until that has ended. Returns its exit status then, else STATUS_PART where not all
 * is pinned at the end, or was at the beginning.
 */
int vigil_keep(struct vigil *vigil, uint64_t time);

/* A command that still waits ends without having begun. */
void vigil_end(struct vigil *vigil);

#endif
