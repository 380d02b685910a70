/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "evicted.h"

enum field {
	F_PATH,
	F_FILES,
	F_SIZE,
	F_ALREADY,
	F_EVICTED,
	F_RESIDENT,
	F_RATIO,
	F_MAPPED,
	F_LOCKED,
	F_DIRTY,
	F_TMPFS,
	F_EDGE,
	F_UNKNOWN,
	F_SKIPPED,
	F_SKIPPED_FILES,
	F_FAILED,
	F_SECONDS,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand, or file (-v)" },
	[F_FILES] = { "files", OUT_COUNT, "warm_evict_files", false, "files opened" },
	[F_SIZE] = { "size_bytes", OUT_BYTES, "warm_evict_size_bytes", false,
	    "their size, or what --range selects of it" },
	[F_ALREADY] = { "already_bytes", OUT_BYTES, "warm_evict_already_bytes", false,
	    "of these, in memory before" },
	[F_EVICTED] = { "evicted_bytes", OUT_BYTES, "warm_evict_evicted_bytes", false,
	    "of these, no longer in memory, as measured" },
	[F_RESIDENT] = { "resident_bytes", OUT_BYTES, "warm_evict_resident_bytes", false,
	    "of the size, in memory afterwards: the next seven" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "warm_evict_resident_ratio", false,
	    "resident_bytes / size_bytes; none without bytes" },
	[F_MAPPED] = { "mapped_bytes", OUT_BYTES, "warm_evict_mapped_bytes", false,
	    "stayed, as a process has them mapped" },
	[F_LOCKED] = { "locked_bytes", OUT_BYTES, "warm_evict_locked_bytes", false,
	    "stayed, as a process has them locked" },
	[F_DIRTY] = { "dirty_bytes", OUT_BYTES, "warm_evict_dirty_bytes", false,
	    "stayed, as they are not written back yet" },
	[F_TMPFS] = { "tmpfs_bytes", OUT_BYTES, "warm_evict_tmpfs_bytes", false,
	    "stayed, as memory is where the file is" },
	[F_EDGE] = { "edge_bytes", OUT_BYTES, "warm_evict_edge_bytes", false,
	    "stayed, in pages or folios that reach out of --range" },
	[F_UNKNOWN] = { "unknown_bytes", OUT_BYTES, "warm_evict_unknown_bytes", false,
	    "stayed, it is not known why" },
	[F_SKIPPED] = { "skipped_bytes", OUT_BYTES, "warm_evict_skipped_bytes", false,
	    "in memory, of files that were left alone" },
	[F_SKIPPED_FILES] = { "skipped_files", OUT_COUNT, "warm_evict_skipped_files", false,
	    "left alone, as others use them or may do so" },
	[F_FAILED] = { "failed_files", OUT_COUNT, "warm_evict_failed_files", false,
	    "could not be opened, written back, or measured" },
	[F_SECONDS] = { "seconds", OUT_SECONDS, "warm_evict_duration_seconds", false,
	    "time taken" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_SIZE, "SIZE", 7, false },
	{ F_ALREADY, "ALREADY", 7, false },
	{ F_EVICTED, "EVICTED", 7, false },
	{ F_RESIDENT, "RESIDENT", 8, false },
	{ F_RATIO, "PERCENT", 7, false },
	{ F_SKIPPED, "SKIPPED", 7, false },
	{ F_FAILED, "FAILED", 6, false },
	{ F_SECONDS, "SECONDS", 8, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table evicted_table = { .fields = fields,
	.count = FIELDS,
	.columns = columns,
	.mode = "--evict" };

void
evicted_file(struct evicted *evicted, const struct each_file *file)
{
	const struct evicted_file *result = file->result;
	const struct evict *evict = &result->evict;
	struct evicted single = { .left = evict->left != INUSE_FREE };
	struct outcome *outcome = &single.outcome;

	if (outcome_file(outcome, file, evict->why, result->start, result->end)) {
		outcome->already = evict->already;
		outcome->resident = evict->resident;
		single.evicted = evict->evicted;
		single.left_bytes = evict->left_bytes;
		single.dirt_hidden = evict->dirt_hidden;
		for (int i = 0; i < STAYED_REASONS; i++)
			single.stayed[i] = evict->stayed[i];
	}
	evicted_add(evicted, &single);
}

void
evicted_add(struct evicted *evicted, const struct evicted *more)
{
	struct outcome *outcome = &evicted->outcome;

	outcome_add(outcome, &more->outcome);
	evicted->left += more->left;
	evicted->dirt_hidden |= more->dirt_hidden;
	outcome_bytes(outcome, &evicted->evicted, more->evicted);
	outcome_bytes(outcome, &evicted->left_bytes, more->left_bytes);
	for (int i = 0; i < STAYED_REASONS; i++)
		outcome_bytes(outcome, &evicted->stayed[i], more->stayed[i]);
}

uint64_t
evicted_planned(const struct evicted *evicted)
{
	uint64_t planned = evicted->outcome.resident - evicted->left_bytes;

	for (int i = 0; i < STAYED_REASONS; i++)
		if (i != STAYED_DIRTY) /* goes once it is written back */
			planned -= evicted->stayed[i];
	return planned;
}

static void
fill_in(const struct evicted *evicted, struct out_value *values)
{
	const struct outcome *outcome = &evicted->outcome;

	values[F_SIZE] = out_number(outcome->size);
	values[F_ALREADY] = out_number(outcome->already);
	values[F_EVICTED] = out_number(evicted->evicted);
	values[F_RESIDENT] = out_number(outcome->resident);
	values[F_RATIO] = out_percent(outcome->resident, outcome->size);
	values[F_MAPPED] = out_number(evicted->stayed[STAYED_MAPPED]);
	values[F_LOCKED] = out_number(evicted->stayed[STAYED_LOCKED]);
	if (!evicted->dirt_hidden)
		values[F_DIRTY] = out_number(evicted->stayed[STAYED_DIRTY]);
	values[F_TMPFS] = out_number(evicted->stayed[STAYED_TMPFS]);
	values[F_EDGE] = out_number(evicted->stayed[STAYED_EDGE]);
	values[F_UNKNOWN] = out_number(evicted->stayed[STAYED_UNKNOWN]);
	values[F_SKIPPED] = out_number(evicted->left_bytes);
}

void
evicted_put(const struct evicted *evicted, const char *path, struct report *report)
{
	const struct outcome *outcome = &evicted->outcome;
	struct out_value values[FIELDS] = {
		[F_PATH] = out_string(path),
		[F_FILES] = out_number(outcome->files),
		[F_SKIPPED_FILES] = out_number(evicted->left),
		[F_FAILED] = out_number(outcome->failed),
	};

	if (outcome_known(outcome))
		fill_in(evicted, values);
	if (outcome->end)
		values[F_SECONDS] = out_real(outcome_seconds(outcome));
	report_put(report, values, NULL);
}
