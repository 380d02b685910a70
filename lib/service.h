/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SERVICE_H
#define HOTSET_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "detach.h"
#include "inquiry.h"
#include "notify.h"
#include "pidfile.h"

/* What a tool that goes on running is to those who start it, watch over it and ask it. */
struct service_options {
	bool detach;
	bool stay;           /* detached, it keeps the working folder */
	const char *pidfile; /* NULL: none */
	bool endures;        /* a reader who goes away does not end it */
	uint64_t timeout;    /* for stop_catch */
};

struct service {
	struct service_options options;
	struct notify notify;
	struct detach detach;
	struct pidfile pidfile;
	struct inquiry inquiry;
	bool stopping;
	bool reloads; /* SIGHUP asks for that */
	bool
	    unheard; /* the service manager does not know yet that the start, or a reload, is over */
	int signals; /* of stop_divert: SIGUSR1, and SIGHUP where that asks for a reload */
};

/*
 * Before there are threads. True in the process that is to go on. Else *STATUS is the exit
 * status: where it fails, which is said, or where the start was another process's work.
 */
bool service_begin(struct service *service, const struct service_options *options, int *status);

/*
 * The start is over: tells those who wait for it, STATUS to who called, whose terminal is let go,
 * then TEXT to the service manager. Returns 0, or -1 where there is no going on, which is said.
 */
int service_ready(struct service *service, const char *text, int status);

/* The same to the service manager alone: of a reload, or once more where it is unheard. */
void service_tell_ready(struct service *service, const char *text);

/* From now on the signals that end us come by service->signals, too. -1 with errno. */
int service_divert_ends(struct service *service);

/* The end begins. */
void service_stopping(struct service *service);

/* Undoes it all; STATUS is what the process ends with, which it returns. */
int service_end(struct service *service, int status);

#endif
