/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LOAD_H
#define HOTSET_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "budget.h"
#include "manners.h"
#include "num.h"
#include "rangelist.h"
#include "report.h"
#include "select.h"
#include "source.h"
#include "tally.h"

/*
 * What warm does unless told otherwise: brings the selected files into the page cache, within a
 * budget, and reports what is there then.
 */
struct load {
	const struct select *select;
	const struct source *source; /* of the files of its one operand; NULL: the operands */
	void *self;                  /* the source's */
	bool ranges;                 /* the list of select has them (rangelist.h) */
	const char *sample;          /* lies where its files do; NULL: not known */
	struct report report;        /* open, and closed by the caller */
	unsigned workers;            /* 0: as the device has it */
	struct num_share
	    share;          /* of memory that may be brought in; BUDGET_NO_SHARE: what is free */
	double min;         /* percent; below 0: no condition */
	bool dry_run;       /* reads nothing */
	uint64_t rate;      /* bytes a second; 0: as many as there are */
	bool idle;          /* reads when nobody else does */
	const char *cgroup; /* that pays; NULL: our own */

	/* its own */
	struct rangelist list;
	struct manners manners;
	struct budget budget;
	uint64_t allowed;   /* bytes that may be brought in */
	atomic_ullong left; /* of these */
	size_t operand;     /* that current is of */
	struct tally current, all;
	bool worked;   /* some operand did */
	bool repeated; /* current lacks files that are in another operand's */
	int status;
};

/* Finds out what may be brought in. Reports what fails, and returns the exit status for it, else
 * STATUS_DONE. */
int load_prepare(struct load *load);

/* Loads and reports; returns the exit status. */
int load_run(struct load *load);

void load_free(struct load *load);

#endif
