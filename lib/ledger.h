/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LEDGER_H
#define HOTSET_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "hold.h"
#include "roster.h"

/*
 * What has come and gone of the pinned bytes of each file, in the figures of its hold, and, all
 * that happened in one go together, in words.
 */

enum ledger_what {
	LEDGER_LOST,     /* by who changed the file, or since the process that held it is gone */
	LEDGER_RELEASED, /* given back: others need it, or it is the file of that name no more */
	LEDGER_REPINNED, /* either of it, and pinned again */
	LEDGER_KINDS,
};

struct ledger {
	struct hold *holds; /* by the files' owner */
	struct ledger_sum {
		uint64_t files, bytes;
		char *path;   /* the first */
	} sums[LEDGER_KINDS]; /* since they were told */
};

/* File NUMBER has PINNED bytes now. Fewer than before are WHAT; more are pinned again, as far as
 * some are owed, else pinned for the first time. */
void ledger_set(struct ledger *ledger, struct roster *roster, uint32_t number, uint64_t pinned,
    enum ledger_what what);

/* It is one of its operand's files, or is none any more. */
void ledger_count(struct ledger *ledger, struct roster *roster, uint32_t number, bool counted);

/* Whether it cannot be pinned as a whole. */
void ledger_fail(struct ledger *ledger, struct roster *roster, uint32_t number, bool failed);

/* LENGTH bytes of it shall be pinned from now on. */
void ledger_ask(struct ledger *ledger, struct roster *roster, uint32_t number, uint64_t length);

/* Tells what happened since the last time; WHY something was released, NULL: files went. */
void ledger_tell(struct ledger *ledger, const char *why,
    void (*event)(const char *text, void *argument), void *argument);

#endif
