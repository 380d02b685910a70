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

	uint64_t quiet_time; /* ns without pressure until what was given back is pinned again */

	/* What there is to know: one hold an operand, and one for the list. */
	struct hold *holds;
	size_t holds_count;
	uint64_t asked; /* bytes, of all, at first; HOLD_UNKNOWN: more than 64 bits hold */
	bool partial;   /* something could not be opened, or pinned */

	/* the keeper's own */
	pthread_mutex_t lock; /* of the next two, while files are pinned */
	struct links seen;
	uint64_t taken; /* bytes mapped */
	uint64_t missing, files;
	struct notice notice;
	struct roster roster;
	struct shares shares;
	struct valve valve;
	struct ledger ledger;
	struct keeper_name {
		uint32_t folder;
		char *name;
	} * changed; /* to be opened again, from next on */
	size_t changed_count, changed_size, changed_next;
	uint64_t heard, checked, looked; /* when each is due */
	uint64_t breathed;               /* when it was let breathe */
	bool enough;                     /* its last word was false */
	int news;                        /* the descriptor */
	bool maps_told, watch_told, unmeasured, tending, withheld, released;
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
 * keeper_release. Never takes long. Returns when (stop_now) it is to be called again at the
 * latest; UINT64_MAX: never. The holds are up to date then.
 */
uint64_t keeper_tend(struct keeper *keeper);

/* A descriptor that is readable when there is something to tend before; -1: none. */
int keeper_fd(const struct keeper *keeper);

/* Measures again, for lost, then lets go of everything; once only. */
void keeper_release(struct keeper *keeper);

/* For what works for the keeper, in the caller's thread, as often as it likes: whether to go on. */
bool keeper_breathe(struct keeper *keeper);

/* Frees the holds. */
void keeper_end(struct keeper *keeper);

#endif
