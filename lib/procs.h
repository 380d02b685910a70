/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PROCS_H
#define HOTSET_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The processes of a moment, with what /proc says that each has read and written. */

/* /proc/PID/io (fs/proc/base.c), in bytes. A process that has been waited for is in its
 * parent's figures from then on (wait_task_zombie in kernel/exit.c): the sum over a process
 * and its children stays whole as these end. */
struct procs_io {
	uint64_t read;    /* rchar: what read(2), sendfile(2) and their kin returned */
	uint64_t fetched; /* read_bytes: what it had storage read */
	uint64_t dirtied; /* write_bytes: pages that it made dirty */
	uint64_t faults;  /* not bytes: major faults, from /proc/PID/stat */
};

struct procs_one {
	pid_t pid, parent;
	uint64_t started; /* with pid, who it is: numbers are used again */
	uint64_t faults;  /* as in procs_io */
	bool dead;        /* and not waited for yet */
	bool kernel;      /* a thread of the kernel */
	bool member;      /* the caller's: one of those that are summed */
	bool hidden;      /* the caller's: one that it may not look at */
	struct procs_io io;
};

struct procs {
	struct procs_one *all;
	size_t count;
};

/* Lists what is below ROOT/proc ("" but in tests); whoever ends meanwhile may be missing. -1
 * with errno. */
int procs_list(const char *root, struct procs *procs);
void procs_free(struct procs *procs);

/* The process that ONE, of an earlier list, is in PROCS; NULL where it has gone. */
struct procs_one *procs_find(const struct procs *procs, const struct procs_one *one);

/* The process number PID; NULL where there is none. */
struct procs_one *procs_numbered(const struct procs *procs, pid_t pid);

/* Fills ONE in for process number ONE->pid. -1 with errno, as procs_io. */
int procs_look(const char *root, struct procs_one *one);

/* Whether it, or another process of its number, is there now. */
bool procs_exists(const char *root, const struct procs_one *one);

/* What ONE has done until now, faults until it was listed. -1 with errno: ENOENT or ESRCH where it has gone, EACCES where
 * that is not for us to know, EINVAL where it is not what the kernel writes. */
int procs_io(const char *root, const struct procs_one *one, struct procs_io *io);

#endif
