/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SAMPLES_H
#define HOTSET_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sums samples of the hit ratio, fed in pieces of any size, in constant memory.
 * Understood are tables whose heading names the columns HITS and MISSES in any
 * case, between blanks (cachestat's and hitratio's text) or tabs (hitratio's
 * tsv), and records of lines hits=N and misses=N between empty lines (kv). Of an
 * estimate, the figures are 123est in text, and else hits_est and misses_est.
 *
 * A row whose hits and misses are "-" or empty is an interval without figures: it
 * counts as unknown and adds nothing. Whatever else is no sample is an error, and so is
 * a last line without a newline.
 */

#define SAMPLES_LINE 4096 /* longer lines are no samples */

enum samples_kind { SAMPLES_ANY, SAMPLES_BLANKS, SAMPLES_TABS, SAMPLES_RECORDS };

struct samples_row {
	uint64_t value[5];
	unsigned seen, known; /* bit i: of value i */
};

struct samples {
	uint64_t hits, misses, lost; /* sums; lost is 0 where no column says */
	uint64_t uncounted;          /* events that are in no sample, as sampler_run was told */
	uint64_t rows, unknown;      /* samples; of these, without figures */
	bool estimated;              /* a sample is an estimate: by its tier or its figures */

	const char *problem; /* of a failed call */
	uint64_t at;         /* the line that it is about */

	/* private */
	enum samples_kind kind;
	int columns, place[6];  /* of the heading; place -1: not there */
	struct samples_row row; /* the record so far */
	bool overlong, cut;     /* of the line; cut: it holds a NUL */
	size_t length;
	char line[SAMPLES_LINE];
};

/* Starts with no sample. */
void samples_start(struct samples *samples);

/* Takes LENGTH bytes more; -1 with EINVAL, and problem set, at the first error. */
int samples_feed(struct samples *samples, const char *bytes, size_t length);

/* The input has ended; -1 as above, also where no heading or no row came. */
int samples_end(struct samples *samples);

#endif
