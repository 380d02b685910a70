/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PIDFILE_H
#define HOTSET_PIDFILE_H

#include <sys/types.h>

/*
 * A file that holds the id of the process that runs. It is locked as long as that does: the
 * lock, which the kernel takes back whatever ends the process, tells whether it runs, not
 * the file, so that one left behind is in nobody's way.
 */
struct pidfile {
	char *path; /* from the root on; NULL: none */
	int fd;
};

/*
 * Makes, or takes over, the file at PATH, for this process. -1 with errno: EWOULDBLOCK where
 * another process has it (*HOLDER is its id, 0 where that is not known); EINVAL where it is
 * something else than a pid file; ELOOP where it is a symbolic link.
 */
int pidfile_take(struct pidfile *pidfile, const char *path, pid_t *holder);

/* Removes it, unless it is another's by now. */
void pidfile_drop(struct pidfile *pidfile);

/* The process that has the file at PATH; 0 where none has. -1 with errno. */
pid_t pidfile_holder(const char *path);

#endif
