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
 * Makes, or takes over, the file at PATH, for this process: one that no other user may read, since
 * who can read it could lock it. -1 with errno: EWOULDBLOCK where another process has it locked
 * (*HOLDER is its id, 0 where that is not known), EINTR where stop_asked meanwhile; EEXIST where
 * *HOLDER, which runs, has it without a lock; EINVAL where it is something else than a pid file of
 * this user; ELOOP where it is a symbolic link.
 */
int pidfile_take(struct pidfile *pidfile, const char *path, pid_t *holder);

/* Removes it, unless it is another's by now. */
void pidfile_drop(struct pidfile *pidfile);

/* Who has the file at PATH: 1, or 0 where nobody has by now. -1 with errno, as above, EAGAIN where
 * it has just begun. */
struct pidfile_holder {
	pid_t pid;
	uid_t owner; /* of the file */
};
int pidfile_find(const char *path, struct pidfile_holder *holder);

#endif
