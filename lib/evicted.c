/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "evicted.h"

#define NSEC 1000000000ULL

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

static void
take_sums(struct evicted *single, const struct each_file *file, const struct evict *evict)
{
	single->size = file->length;
	single->already = evict->already;
	single->evicted = evict->evicted;
	single->resident = evict->resident;
	single->left_bytes = evict->left_bytes;
	single->dirt_hidden = evict->dirt_hidden;
	for (int i = 0; i < STAYED_REASONS; i++)
		single->stayed[i] = evict->stayed[i];
}

void
evicted_file(struct evicted *evicted, const struct each_file *file)
{
	const struct evicted_file *result = file->result;
	const struct evict *evict = &result->evict;
	struct evicted single = { .failed = file->error || evict->why != RESIDENCY_KNOWN };

	if (result->end) {
		single.files = 1;
		single.hidden = evict->why == RESIDENCY_NO_PERMISSION;
		single.elsewhere = evict->why == RESIDENCY_NOT_PAGE_CACHE;
		single.left = evict->left != INUSE_FREE;
		single.start = result->start;
		single.end = result->end;
		if (evict->why == RESIDENCY_KNOWN)
			take_sums(&single, file, evict);
	}
	evicted_add(evicted, &single);
}

static void
add_bytes(struct evicted *evicted, uint64_t *sum, uint64_t more)
{
	evicted->beyond |= __builtin_add_overflow(*sum, more, sum);
}

void
evicted_add(struct evicted *evicted, const struct evicted *more)
{
	evicted->files += more->files;
	evicted->failed += more->failed;
	evicted->hidden += more->hidden;
	evicted->elsewhere += more->elsewhere;
	evicted->left += more->left;
	evicted->dirt_hidden |= more->dirt_hidden;
	evicted->beyond |= more->beyond;
	add_bytes(evicted, &evicted->size, more->size);
	add_bytes(evicted, &evicted->already, more->already);
	add_bytes(evicted, &evicted->evicted, more->evicted);
	add_bytes(evicted, &evicted->resident, more->resident);
	add_bytes(evicted, &evicted->left_bytes, more->left_bytes);
	for (int i = 0; i < STAYED_REASONS; i++)
		add_bytes(evicted, &evicted->stayed[i], more->stayed[i]);
	if (more->end && (!evicted->end || more->start < evicted->start))
		evicted->start = more->start;
	if (more->end > evicted->end)
		evicted->end = more->end;
}

uint64_t
evicted_planned(const struct evicted *evicted)
{
	uint64_t planned = evicted->resident - evicted->left_bytes;

	for (int i = 0; i < STAYED_REASONS; i++)
		if (i != STAYED_DIRTY) /* goes once it is written back */
			planned -= evicted->stayed[i];
	return planned;
}

static void
fill_in(const struct evicted *evicted, struct out_value *values)
{
	values[F_SIZE] = out_number(evicted->size);
	values[F_ALREADY] = out_number(evicted->already);
	values[F_EVICTED] = out_number(evicted->evicted);
	values[F_RESIDENT] = out_number(evicted->resident);
	values[F_RATIO] = out_percent(evicted->resident, evicted->size);
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
	struct out_value values[FIELDS] = {
		[F_PATH] = out_string(path),
		[F_FILES] = out_number(evicted->files),
		[F_SKIPPED_FILES] = out_number(evicted->left),
		[F_FAILED] = out_number(evicted->failed),
	};

	/* where no file could be measured, these figures are not 0 */
	if (!evicted->beyond && (evicted->size > 0 || evicted->failed == 0))
		fill_in(evicted, values);
	if (evicted->end)
		values[F_SECONDS] = out_real((double)(evicted->end - evicted->start) / NSEC);
	report_put(report, values, NULL);
}
