/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HOLD_H
#define HOTSET_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out.h"

/* What lock holds for one operand, and the row made of it. */

#define HOLD_UNKNOWN UINT64_MAX

struct hold {
	const char *name;
	uint64_t files;
	uint64_t failed; /* files and folders that could not be opened, or pinned */
	uint64_t asked;  /* bytes, whole pages; HOLD_UNKNOWN: more than 64 bits hold */
	uint64_t pinned; /* the next four in bytes, or HOLD_UNKNOWN */
	uint64_t lost;
	uint64_t released;
	uint64_t repinned;
	uint64_t limit;    /* for all operands together */
	const char *state; /* NULL: none yet */
	bool unmeasured;   /* what is pinned is mlock's word, and what became of it not known */
};

extern const struct out_table hold_table;

/* The sum of bytes: HOLD_UNKNOWN where one is, or where it is too large. */
uint64_t hold_sum(uint64_t a, uint64_t b);

/* Adds MORE to SUM; a sum is unknown where a part is, states that differ are partial. */
void hold_add(struct hold *sum, const struct hold *more);

/*
 * The sum of what is pinned by COUNT holds, HOLD_UNKNOWN where that is not known; WORDS say of how
 * much that is.
 */
#define HOLD_WORDS 64
uint64_t hold_words(const struct hold *holds, size_t count, char words[static HOLD_WORDS]);

/* How it stands with all that was asked for, as an exit status: STATUS_FAILED where nothing is
 * pinned. */
int hold_standing(const struct hold *holds, size_t count);

/* Adds the row to OUT; as out_row. */
int hold_row(const struct hold *hold, struct out *out);

/* The rows of a report of COUNT holds, and in text, where they are more than one, their total, which
 * leaves out what is not known; as out_row. */
int hold_report(const struct hold *holds, size_t count, struct out *out);

#endif
