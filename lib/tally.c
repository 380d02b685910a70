/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tally.h"

enum field {
	F_PATH,
	F_FILES,
	F_SIZE,
	F_ALREADY,
	F_READ,
	F_RESIDENT,
	F_RATIO,
	F_SKIPPED,
	F_FAILED,
	F_SECONDS,
	F_RATE,
	F_MISSING,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand, or file (-v)" },
	[F_FILES] = { "files", OUT_COUNT, "warm_files", false, "files opened" },
	[F_SIZE] = { "size_bytes", OUT_BYTES, "warm_size_bytes", false,
	    "their size, or what --range selects of it" },
	[F_ALREADY] = { "already_bytes", OUT_BYTES, "warm_already_bytes", false,
	    "of these, in memory before, or on the way" },
	[F_READ] = { "read_bytes", OUT_BYTES, "warm_read_bytes", false,
	    "of these, read because they were missing" },
	[F_RESIDENT] = { "resident_bytes", OUT_BYTES, "warm_resident_bytes", false,
	    "of these, in memory at the end, as measured" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "warm_resident_ratio", false,
	    "resident_bytes / size_bytes; none without bytes" },
	[F_SKIPPED] = { "skipped_bytes", OUT_BYTES, "warm_skipped_bytes", false,
	    "missing and not started: more than the budget" },
	[F_FAILED] = { "failed_files", OUT_COUNT, "warm_failed_files", false,
	    "could not be opened, read or measured" },
	[F_SECONDS] = { "seconds", OUT_SECONDS, "warm_duration_seconds", false, "time taken" },
	[F_RATE] = { "bytes_per_s", OUT_BYTES, "warm_read_bytes_per_second", false,
	    "read_bytes / seconds; none where nothing was read" },
	[F_MISSING] = { "missing_bytes", OUT_BYTES, "warm_missing_bytes", false,
	    "size_bytes less already_bytes: what there was to do" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_SIZE, "SIZE", 7, false },
	{ F_ALREADY, "ALREADY", 7, false },
	{ F_MISSING, "MISSING", 7, false },
	{ F_READ, "READ", 7, false },
	{ F_RESIDENT, "RESIDENT", 8, false },
	{ F_RATIO, "PERCENT", 7, false },
	{ F_SKIPPED, "SKIPPED", 7, false },
	{ F_FAILED, "FAILED", 6, false },
	{ F_SECONDS, "SECONDS", 8, false },
	{ F_RATE, "PER_S", 7, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table tally_table = { .fields = fields, .count = FIELDS, .columns = columns };

void
tally_file(struct tally *tally, const struct each_file *file)
{
	const struct tally_file *result = file->result;
	const struct preload *preload = &result->preload;
	struct tally single = { 0 };
	struct outcome *outcome = &single.outcome;

	if (outcome_file(outcome, file, preload->why, result->start, result->end)) {
		outcome->already = preload->already;
		outcome->resident = preload->resident;
		single.missing = file->length - preload->already;
		single.read = preload->read;
		single.expected = file->length - preload->skipped - preload->holes;
		single.holes = preload->holes;
		single.cut = preload->cut;
	}
	single.skipped = preload->skipped;
	single.skipped_files = preload->skipped > 0;
	single.short_files = outcome->files && file->parts && file->beyond;
	tally_add(tally, &single);
}

void
tally_add(struct tally *tally, const struct tally *more)
{
	struct outcome *outcome = &tally->outcome;

	outcome_add(outcome, &more->outcome);
	tally->skipped_files += more->skipped_files;
	tally->short_files += more->short_files;
	outcome_bytes(outcome, &tally->missing, more->missing);
	outcome_bytes(outcome, &tally->read, more->read);
	outcome_bytes(outcome, &tally->expected, more->expected);
	outcome_bytes(outcome, &tally->holes, more->holes);
	outcome_bytes(outcome, &tally->cut, more->cut);
	outcome_bytes(outcome, &tally->skipped, more->skipped);
}

void
tally_put(const struct tally *tally, const char *path, struct report *report)
{
	const struct outcome *outcome = &tally->outcome;
	bool known = outcome_known(outcome);
	double seconds = outcome_seconds(outcome);
	struct out_value values[FIELDS] = {
		[F_PATH] = out_string(path),
		[F_FILES] = out_number(outcome->files),
		[F_SKIPPED] = outcome->beyond ? out_unknown : out_number(tally->skipped),
		[F_FAILED] = out_number(outcome->failed),
	};

	if (known) {
		values[F_SIZE] = out_number(outcome->size);
		values[F_ALREADY] = out_number(outcome->already);
		values[F_MISSING] = out_number(tally->missing);
		values[F_READ] = out_number(tally->read);
		values[F_RESIDENT] = out_number(outcome->resident);
		values[F_RATIO] = out_percent(outcome->resident, outcome->size);
	}
	if (outcome->end)
		values[F_SECONDS] = out_real(seconds);
	if (known && tally->read && seconds > 0)
		values[F_RATE] = out_number((uint64_t)((double)tally->read / seconds));
	report_put(report, values, NULL);
}
