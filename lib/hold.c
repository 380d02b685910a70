/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <stdio.h>
#include <string.h>

#include "num.h"
#include "status.h"

enum field {
	F_PATH,
	F_FILES,
	F_ASKED,
	F_PINNED,
	F_LOST,
	F_RELEASED,
	F_REPINNED,
	F_LIMIT,
	F_STATE,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "the operand" },
	[F_FILES] = { "files", OUT_COUNT, "lock_files", false, "files asked to be pinned" },
	[F_ASKED] = { "asked_bytes", OUT_BYTES, "lock_asked_bytes", false,
	    "memory that their pages take now" },
	[F_PINNED] = { "pinned_bytes", OUT_BYTES, "lock_pinned_bytes", false,
	    "of these, pinned, as measured" },
	[F_LOST] = { "lost_bytes", OUT_BYTES, "lock_lost_bytes", false,
	    "was pinned, and has gone since (truncated, punched out)" },
	[F_RELEASED] = { "released_bytes", OUT_BYTES, "lock_released_bytes", false,
	    "was pinned, and given back" },
	[F_REPINNED] = { "repinned_bytes", OUT_BYTES, "lock_repinned_bytes", false,
	    "lost or given back, and pinned again" },
	[F_LIMIT] = { "limit_bytes", OUT_BYTES, "lock_limit_bytes", false,
	    "what may be pinned of all operands together" },
	[F_STATE] = { "state", OUT_STRING, "state", false, "pinned, partial, refused or released" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_ASKED, "ASKED", 7, false },
	{ F_PINNED, "PINNED", 7, false },
	{ F_LOST, "LOST", 7, false },
	{ F_RELEASED, "RELEASED", 8, false },
	{ F_REPINNED, "REPINNED", 8, false },
	{ F_LIMIT, "LIMIT", 7, false },
	{ F_STATE, "STATE", -8, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table hold_table = { .fields = fields, .count = FIELDS, .columns = columns };

uint64_t
hold_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (a == HOLD_UNKNOWN || b == HOLD_UNKNOWN || __builtin_add_overflow(a, b, &sum))
		return HOLD_UNKNOWN;
	return sum;
}

void
hold_add(struct hold *sum, const struct hold *more)
{
	if (sum->state && more->state && strcmp(sum->state, more->state) != 0)
		sum->state = "partial";
	else if (!sum->state)
		sum->state = more->state;
	sum->unmeasured |= more->unmeasured;
	sum->files += more->files;
	sum->failed += more->failed;
	sum->asked = hold_sum(sum->asked, more->asked);
	sum->pinned = hold_sum(sum->pinned, more->pinned);
	sum->lost = hold_sum(sum->lost, more->lost);
	sum->released = hold_sum(sum->released, more->released);
	sum->repinned = hold_sum(sum->repinned, more->repinned);
}

static struct out_value
known(uint64_t bytes)
{
	return bytes == HOLD_UNKNOWN ? out_unknown : out_number(bytes);
}

/* What was measured; nothing at all needs no measure. */
static struct out_value
measured(const struct hold *hold, uint64_t bytes)
{
	return hold->unmeasured && bytes > 0 ? out_unknown : known(bytes);
}

/* Where nothing of it could be looked at. */
static bool
is_dark(const struct hold *hold)
{
	return hold->failed && hold->files == 0;
}

uint64_t
hold_words(const struct hold *holds, size_t count, char words[static HOLD_WORDS])
{
	char pinned[NUM_HUMAN] = "-", asked[NUM_HUMAN] = "-";
	struct hold sum = { 0 };

	for (size_t i = 0; i < count; i++)
		if (!is_dark(&holds[i]))
			hold_add(&sum, &holds[i]);
	if (sum.pinned != HOLD_UNKNOWN)
		num_human(sum.pinned, pinned);
	if (sum.asked != HOLD_UNKNOWN)
		num_human(sum.asked, asked);
	snprintf(words, HOLD_WORDS, "%s of %s pinned", pinned, asked);
	return sum.pinned;
}

int
hold_standing(const struct hold *holds, size_t count)
{
	bool whole = true, empty = true, holding = false;

	for (size_t i = 0; i < count; i++) {
		whole &= holds[i].state && strcmp(holds[i].state, "pinned") == 0;
		empty &= holds[i].asked == 0;
		holding |= holds[i].pinned > 0;
	}
	if (!empty && !holding)
		return STATUS_FAILED;
	return whole ? STATUS_DONE : STATUS_PART;
}

int
hold_row(const struct hold *hold, struct out *out)
{
	struct out_value values[FIELDS] = {
		[F_PATH] = out_string(hold->name),
		[F_FILES] = out_number(hold->files),
		[F_ASKED] = known(hold->asked),
		[F_PINNED] = measured(hold, hold->pinned),
		[F_LOST] = hold->unmeasured ? out_unknown : known(hold->lost),
		[F_RELEASED] = measured(hold, hold->released),
		[F_REPINNED] = hold->unmeasured ? out_unknown : known(hold->repinned),
		[F_LIMIT] = known(hold->limit),
		[F_STATE] = hold->state ? out_string(hold->state) : out_unknown,
	};

	for (int field = F_FILES; is_dark(hold) && field < F_LIMIT; field++)
		values[field] = out_unknown;
	return out_row(out, values);
}

int
hold_report(const struct hold *holds, size_t count, struct out *out)
{
	struct hold total = { .name = "total", .limit = HOLD_UNKNOWN };
	bool single = count == 1 || out->format != OUT_TEXT;

	for (size_t i = 0; i < count; i++) {
		if (hold_row(&holds[i], out) < 0)
			return -1;
		if (is_dark(&holds[i]))
			hold_add(&total, &(struct hold){ .state = holds[i].state });
		else
			hold_add(&total, &holds[i]);
		total.limit = holds[i].limit;
	}
	return single ? 0 : hold_row(&total, out);
}
