/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_NUM_H
#define HOTSET_NUM_H

#include <stdint.h>

/*
 * Numbers as people type them. Each takes the whole TEXT or fails with -1 and
 * errno EINVAL (not such a number; trailing characters) or ERANGE (too large).
 * Signs, leading blanks, an empty text and hexadecimal are errors.
 */

/* A whole number. */
int num_count(const char *text, uint64_t *value);

/* Bytes: a whole number, then nothing or one of k K m M g G t T (powers of 1024). */
int num_size(const char *text, uint64_t *bytes);

/* A percentage from 0 to 100, decimals allowed, with or without "%". */
int num_percent(const char *text, double *percent);

/* Nanoseconds: a number, decimals allowed, then nothing or s, m, h, d, or ms. ERANGE also
 * for what is less than one but not 0. */
int num_duration(const char *text, uint64_t *nanoseconds);

/* OFFSET[:LENGTH] in bytes, each a size; without LENGTH, UINT64_MAX. */
struct num_range {
	uint64_t offset, length;
};
int num_range(const char *text, struct num_range *range);

/* "25%" or "1G": exactly one of the two is set, the other is negative or 0. */
struct num_share {
	double percent; /* below 0: bytes hold */
	uint64_t bytes;
};
int num_share(const char *text, struct num_share *share);

/* SHARE as bytes of WHOLE bytes. */
uint64_t num_share_of(const struct num_share *share, uint64_t whole);

/* The sum, or NUM_UNKNOWN where it is too large, or one of the two is that already. */
#define NUM_UNKNOWN UINT64_MAX
uint64_t num_sum(uint64_t a, uint64_t b);

uint64_t num_least(uint64_t a, uint64_t b);

/*
 * PART of WHOLE (not 0) in UNITS, such as 10,000 for hundredths of a percent: to the nearest, but
 * not up to all of them where something is missing, nor down to none where something is there.
 */
uint64_t num_portion(uint64_t part, uint64_t whole, uint64_t units);

/* Writes BYTES as people read it, "1.5G", into TEXT; returns TEXT. */
#define NUM_HUMAN 8
char *num_human(uint64_t bytes, char text[static NUM_HUMAN]);

#endif
