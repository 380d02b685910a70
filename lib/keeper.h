/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_KEEPER_H
#define HOTSET_KEEPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hold.h"
#include "ledger.h"
#include "links.h"
#include "notice.h"
#include "queue.h"
#include "roster.h"
#include "select.h"
#include "share.h"
#include "valve.h"

/*
 * Pins the selected files, all that can be, and keeps that true: first a look at what is asked
 * for, then, within what is allowed, the files are brought in, many at a time, and pinned; then,
 * for as long as it is tended, what changes is pinned anew, and what others need is given back.
 * The paths are used all the time: the current folder must stay.
 */
struct keeper {
	const struct select *select;
	char **operands;
	size_t count;     /* of these, without the list of select->files_from */
	uint64_t allowed; /* bytes; set before keeper_pin */

	/* What is wrong with a file, in the caller's thread. */
	void (*complain)(const char *path, const char *why);

	/* Each loss, release and pinning again, in words, in the caller's thread. */
	void (*event)(const char *text, void *argument);

	/* In the caller's thread, at least about each tenth of a second of whatever takes long, of
	 * all functions below; false: that comes back soon, as after a stop. May be NULL. It may
	 * read holds, and call nothing of the keeper's. */
	bool (*breathe)(void *argument);
	void *argument;

	bool dry_run;        /* nothing will be pinned: only the first pass */
	uint64_t quiet_time; /* ns without pressure until what was given back is pinned again */

	/* What there is to know: one hold an operand, and one for the list. */
	struct hold *holds;
	size_t holds_count;
	uint64_t asked; /* bytes, of all, at first; HOLD_UNKNOWN: more than 64 bits hold */
	bool partial;   /* something could not be opened, or pinned, and cannot now */

	/* the keeper's own */
	pthread_mutex_t lock; /* of the next two, while files are pinned */
	struct links seen;    /* in a pass */
	uint64_t taken;       /* bytes mapped */
	uint64_t missing, files;
	struct notice notice;
	struct roster roster;
	struct queue queue; /* names to be opened again */
	struct shares shares;
	struct valve valve;
	struct ledger ledger;
	uint64_t heard, checked, looked; /* when each is due */
	uint64_t fill;                   /* when what is not held is tried again */
	uint64_t inspect;                /* before that, no large file is measured by itself */
	uint64_t breathed;               /* when it was let breathe */
	bool enough;                     /* its last word was false */
	uint32_t round;                  /* of files that are looked at in turn */
	int news;                        /* the descriptor */
	bool wanting;                    /* some files are not held as a whole, or failed */
	bool withheld; /* since memory was tight: they wait until it has not been for a while */
	bool by_place; /* some of it lies where a head must seek */
	bool hung;     /* a thread does, and may come back: nothing is freed any more */
	bool maps_told, watch_told, full_told, unmeasured, tending, released;
};

/* Makes the holds, LIST naming what select->files_from reads; -1 with ENOMEM. */
int keeper_begin(struct keeper *keeper, const char *list);

/* The first pass: fills in files and asked. -1 with errno where nothing can be done. */
int keeper_survey(struct keeper *keeper);

/* How much of what is asked for is not in memory yet, as far as can be told. As
 * keeper_survey. */
int keeper_missing(struct keeper *keeper, uint64_t *bytes);

/* Whether a part of it is pinned, or that cannot be measured; after keeper_pin. */
bool keeper_holds(const struct keeper *keeper);

/* The second pass: fills in pinned, released and state. As keeper_survey. */
int keeper_pin(struct keeper *keeper);

/*
 * What is due now, of keeping it true and of giving memory back; between keeper_pin and
 * keeper_release. Takes a moment, or breathes. Returns when (stop_now) it is to be called again at the
 * latest; UINT64_MAX: never. The holds are up to date then.
 */
uint64_t keeper_tend(struct keeper *keeper);

/* A descriptor that is readable when there is something to tend before; -1: none. */
int keeper_fd(const struct keeper *keeper);

/* Measures again, for lost, then lets go of everything; once only. */
void keeper_release(struct keeper *keeper);

/* For what works for the keeper (ARGUMENT), in the caller's thread, as often as it likes: gives
 * memory back where that is due, and lets the caller breathe; whether to go on. */
bool keeper_attend(void *argument);

/* Bytes that are held no more; of those that are now, the negative. */
void keeper_give(struct keeper *keeper, uint64_t bytes);

/* Frees the holds. */
void keeper_end(struct keeper *keeper);

#endif
