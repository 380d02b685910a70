/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HOLDING_H
#define HOTSET_HOLDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bulletin.h"
#include "keeper.h"
#include "notify.h"
#include "num.h"
#include "preflight.h"

/*
 * What is asked for, the keeper that has it, and the one that follows it where the names are read
 * again; and the reports of it. What goes wrong is said; what happens once the start is over goes
 * through the journal, too.
 */
struct holding {
	const struct select *select;
	char **operands;
	size_t count;
	const char *list; /* as it was named; NULL: none */
	struct num_share max;
	bool dry_run;                /* nothing will be pinned */
	uint64_t quiet_time;         /* ns */
	const struct notify *notify; /* is told of each event */

	/* As a keeper's: it may call holding_answer and holding_report_again. */
	bool (*breathe)(void *argument);
	void *argument;

	struct bulletin bulletin; /* open, of hold_table */
	struct keeper *keeper;    /* NULL: none yet */
	struct preflight preflight;

	/* its own */
	bool looking; /* at what is to follow */
	bool tending;
};

/* Looks at what is asked for, and whether that may be pinned, which preflight says then. Returns an
 * exit status. */
int holding_begin(struct holding *holding);
void holding_end(struct holding *holding);

/* Pins it, and gives the first report; an exit status: STATUS_DONE where something is pinned, or
 * nothing was asked for. */
int holding_pin(struct holding *holding);

/* Reads the names again. Where that is refused, all stays as it is; -1 where nothing is held, nor
 * will be. */
int holding_reload(struct holding *holding);

/* A report that must be, for which who reads it is waited PATIENCE ns; an exit status. */
int holding_report(struct holding *holding, uint64_t patience);

/* One beside. */
void holding_report_again(struct holding *holding);

/* For whoever asks (inquiry.h), of the struct holding ARGUMENT, once that has a keeper. */
int holding_answer(enum out_format format, FILE *stream, void *argument);

/* As hold_words and hold_standing. */
uint64_t holding_words(const struct holding *holding, char words[static HOLD_WORDS]);
int holding_standing(const struct holding *holding);

#endif
