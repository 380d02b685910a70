/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INUSE_H
#define HOTSET_INUSE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Whether anybody else has a file open or mapped. The kernel knows: it grants a lease for
 * writing only where nobody has (fs/locks.c; before Linux 5.3 it also refuses where somebody
 * may have), to the owner of a file or who has CAP_LEASE.
 * Otherwise whoever sees all processes looks at these.
 */

enum inuse {
	INUSE_FREE,
	INUSE_HELD,
	INUSE_DEVICE,  /* a block device: has pages in memory only while it is open or mounted */
	INUSE_OVERLAY, /* cannot be told: its layers may be in use through other mounts */
	INUSE_UNSEEN,  /* cannot be told: no lease, and not all processes can be seen */
};

#define INUSE_WORKERS 1024 /* that may be at work at a time */

/* Our own threads may have one file open under two names: one at a time. */
struct inuse_tools {
	pthread_mutex_t lock;
	pthread_cond_t left;
	struct inuse_file {
		uint64_t device, inode;
	} files[INUSE_WORKERS]; /* at work */
	size_t count;
	atomic_ullong begun, done; /* how often we have let go of a file */
};

void inuse_begin(struct inuse_tools *tools);
void inuse_end(struct inuse_tools *tools);

/*
 * Waits until no other thread is between these two with this file; FD is opened again for that.
 * -1 with errno. After inuse_leave FD is of no use but to be closed.
 */
int inuse_enter(struct inuse_tools *tools, int fd, const struct stat *status);
void inuse_leave(struct inuse_tools *tools, int fd, const struct stat *status);

/* For a thread that only waits for what another does between these two: keeps hold of the file,
 * but no longer has it open. -1 with errno. Then FD is of no use but to be closed. */
int inuse_let_go(struct inuse_tools *tools, int fd);

/* Between these two. For a moment others who open the file wait, or are told EAGAIN where they
 * asked for that (O_NONBLOCK). SIGIO must be ignored: the kernel sends it where one waits. */
enum inuse inuse_ask(struct inuse_tools *tools, int fd, const struct stat *status);

#endif
