/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARE_H
#define HOTSET_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pin.h"

/*
 * Pins, shared out over processes, since each may have so many mappings only (vm.max_map_count):
 * the first share is our own, the others are those of workers, which do as they are told on a
 * socket and end when it is closed, or when we end in any way. All of a worker's files are let go
 * when it ends.
 */

#define SHARE_TOGETHER 64 /* pinned in one call, at most */
#define SHARE_WORKERS  64 /* at most, and no more than a quarter of the descriptors */

struct share_place {
	uint32_t share, number;
};
#define SHARE_NOWHERE                                                                              \
	(struct share_place)                                                                       \
	{                                                                                          \
		UINT32_MAX, UINT32_MAX                                                             \
	}

struct share_item {
	struct pin_what what;
	uint64_t locked; /* as pins_add */

	/* what became of it; nowhere, and no failure: it was halted */
	struct share_place place;
	enum pin_failure failure;
	int error;
};

struct share {
	pthread_mutex_t lock;
	bool own;         /* our own process */
	struct pins pins; /* of that */
	pid_t pid;        /* of a worker; 0: none any more */
	int fd;
	atomic_bool dead; /* set under its lock, and looked at without */
	size_t used;      /* mappings; the lock of shares */
	uint32_t *tags;
	size_t tag_count;
};

struct shares {
	int news; /* an epoll(7) descriptor that is told of workers; -1: none */

	/* Called in the thread of shares_begin while it waits for a worker; NULL: nobody is. */
	void (*breathe)(void *argument);
	void *argument;

	/* its own */
	pthread_t main;
	pthread_mutex_t lock;
	struct share **list;
	uint32_t count;
	size_t most;                 /* mappings of each */
	atomic_bool *halt;           /* seen by all processes */
	pid_t ending[SHARE_WORKERS]; /* were told to, and have not yet */
};

/* How many files one process can pin: vm.max_map_count, less what else it maps. */
size_t shares_most(void);

/* How many processes FILES are shared out over, as far as there can be so many; *ROOM: files that
 * all there can be may pin. */
uint32_t shares_needed(uint64_t files, uint64_t *room);

/* Begins with as many processes as FILES need, if there can be as many; NEWS, BREATHE and ARGUMENT
 * are set. -1 with ENOMEM. */
int shares_begin(struct shares *shares, uint64_t files);

/* One more worker, for as many files; -1 with errno. In one thread only. */
int shares_grow(struct shares *shares);

/* While it is halted, nothing more is pinned; what is being pinned is so in part. */
void shares_halt(struct shares *shares, bool halt);
bool shares_halted(const struct shares *shares);

/* Pins COUNT files in one of the processes; PIN_MAPS for all where none has room. Thread-safe. */
void shares_add(struct shares *shares, struct share_item *items, size_t count);

/* What shares_measure calls it; -1 with ENOMEM. Only in the thread that measures. */
int shares_tag(struct shares *shares, struct share_place place, uint32_t tag);

/* As those of pin.h; PIN_ERROR with errno. */
enum pin_failure
shares_resize(struct shares *shares, struct share_place place, uint64_t *length, uint64_t *seen);
uint64_t shares_look(struct shares *shares, struct share_place place, uint64_t *first);
enum pin_failure shares_restore(struct shares *shares, struct share_place place, uint64_t first);
void shares_drop(struct shares *shares, struct share_place place);

/* As pins_measure, of all, by their tags. */
int shares_measure(struct shares *shares,
    void (*changed)(uint32_t tag, uint64_t seen, void *argument), void *argument);

/* Processor time of all, in ns. */
uint64_t shares_spent(const struct shares *shares);

/* The number of a worker that has died, with all its pins; another one is in its place then, if
 * there can be. UINT32_MAX: none has. *KILLED: by SIGKILL, not ours. */
uint32_t shares_reap(struct shares *shares, bool *killed);

/* Lets go of everything, and ends all workers. */
void shares_release(struct shares *shares);

#endif
