/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INQUIRY_H
#define HOTSET_INQUIRY_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "out.h"
#include "pidfile.h"
#include "unixsock.h"

/*
 * How a running process is asked for its report: by a socket beside its pid file (PIDFILE.sock),
 * which only its own user and root may use. Whoever asks names a format, and gets a
 * descriptor of memory that holds the report: neither side waits while the other is slow.
 */
#define INQUIRY_SUFFIX ".sock"
#define INQUIRY_MOST   (UNIXSOCK_MOST - (sizeof INQUIRY_SUFFIX - 1)) /* of a pid file's path */

struct inquiry {
	char *path;   /* NULL: none */
	int fd;       /* readable where somebody asks */
	dev_t device; /* of the socket's file */
	ino_t inode;
};

/*
 * Begins to listen beside PIDFILE, which we must have (pidfile_take): a socket that was
 * left there is removed. -1 with errno: ENAMETOOLONG where PIDFILE has no room for that.
 */
int inquiry_listen(struct inquiry *inquiry, const char *pidfile);
void inquiry_close(struct inquiry *inquiry);

/*
 * Answers one who asks, if any: REPORT writes the report in FORMAT to STREAM, and returns the
 * exit status that goes with it, or -1 with errno. -1 with errno where there is no answer.
 */
int inquiry_answer(struct inquiry *inquiry,
    int (*report)(enum out_format format, FILE *stream, void *argument), void *argument);

/*
 * Asks HOLDER, who listens beside PIDFILE. Returns a descriptor of the report, and the status that
 * goes with it in *STATUS. -1 with errno: ENOENT or ECONNREFUSED where nobody listens,
 * ETIMEDOUT where there is no answer within TIMEOUT ns, EPROTO where it is not understood, EBADE
 * where somebody else listens.
 */
int inquiry_ask(const char *pidfile, const struct pidfile_holder *holder, enum out_format format,
    uint64_t timeout, int *status);

#endif
