/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_NOTIFY_H
#define HOTSET_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a service tells the service manager that started it (sd_notify(3), Type=notify):
 * state changes as datagrams to the socket that NOTIFY_SOCKET names.
 */
struct notify {
	char *socket;      /* its path, or "@" and an abstract name; NULL: nobody listens */
	uint64_t interval; /* ns between signs of life that are waited for; 0: none are */
};

/*
 * Takes what the environment says, and removes it from there: a command that we start must
 * not speak for us. In the process that the manager started. A NOTIFY_SOCKET that is no address
 * of ours is said, and nobody listens then. -1 with ENOMEM.
 */
int notify_begin(struct notify *notify);
void notify_end(struct notify *notify);

/* Whether a manager listens. */
bool notify_heard(const struct notify *notify);

/*
 * Each returns 0, also where nobody listens, or -1 with errno. They do not wait for a manager that
 * is busy: EAGAIN. TEXT is what the manager shows of us. The first ends a start, or a reload, which
 * never ends where it is lost: it is to be tried again.
 */
int notify_ready(const struct notify *notify, const char *text);
int notify_status(const struct notify *notify, const char *text);
int notify_alive(const struct notify *notify);
int notify_stopping(const struct notify *notify);

/* A reload begins. */
int notify_reloading(const struct notify *notify);

/* The start, or the reload, takes TIME ns more at least. */
int notify_extend(const struct notify *notify, uint64_t time);

#endif
