/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VERDICT_H
#define HOTSET_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler.h"
#include "samples.h"
#include "status.h"
#include "thresh.h"

/* The verdict on a window of samples, and how it is put in words. */

#define VERDICT_REASON SAMPLER_REASON

struct verdict {
	struct thresh thresh;
	uint64_t expected; /* samples, 0: any number */
	struct samples samples;
	bool counted;                /* the samples are there */
	bool idle;                   /* and without an access */
	bool known;                  /* the ratio is */
	char reason[VERDICT_REASON]; /* where it is not */
	enum status status;
	unsigned hundredths; /* the ratio as shown, in hundredths of a percent */
};

/*
 * Judges the samples; where there are none, or no access, the reason must be set. Where more was
 * lost than the verdict can bear, the ratio is not known, and the reason says between which it is.
 */
void verdict_judge(struct verdict *verdict);

/* "page-cache hit ratio 97.31% (12345 hits, 341 misses)", or the reason. */
void verdict_message(const struct verdict *verdict, FILE *stream);

/* The line of a monitoring plugin: "STATUS: message | performance data". */
void verdict_line(const struct verdict *verdict, FILE *stream);

/* For the system log: "page-cache hit ratio 71.30% below threshold 90%", or
 * "page-cache hit ratio unknown: reason". Not of a verdict that is OK. */
void verdict_alarm(const struct verdict *verdict, FILE *stream);

#endif
