/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "change.h"

#include <string.h>

enum field {
	F_PATH,
	F_FILES,
	F_THEN,
	F_NOW,
	F_STAYED,
	F_CAME,
	F_WENT,
	F_CHANGED,
	F_NEW,
	F_GONE,
	F_UNKNOWN,
	F_ERRORS,
	F_STATE,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand or snapshot, or file" },
	[F_FILES] = { "files", OUT_COUNT, "resident_diff_files", false, "files compared" },
	[F_THEN] = { "then_bytes", OUT_BYTES, "resident_diff_then_bytes", false,
	    "in memory when the snapshot was taken" },
	[F_NOW] = { "now_bytes", OUT_BYTES, "resident_diff_now_bytes", false, "in memory now" },
	[F_STAYED] = { "stayed_bytes", OUT_BYTES, "resident_diff_stayed_bytes", false,
	    "in memory then and now" },
	[F_CAME] = { "came_bytes", OUT_BYTES, "resident_diff_came_bytes", false,
	    "in memory now and not then" },
	[F_WENT] = { "went_bytes", OUT_BYTES, "resident_diff_went_bytes", false,
	    "in memory then and not now" },
	[F_CHANGED] = { "changed_files", OUT_COUNT, "resident_diff_changed_files", false,
	    "files written or replaced since: not in stayed, came and went" },
	[F_NEW] = { "new_files", OUT_COUNT, "resident_diff_new_files", false,
	    "files in memory that the snapshot has not" },
	[F_GONE] = { "gone_files", OUT_COUNT, "resident_diff_gone_files", false,
	    "files of the snapshot that are no more" },
	[F_UNKNOWN] = { "unknown_files", OUT_COUNT, "resident_diff_unknown_files", false,
	    "files that only count in files: nothing is known of their pages" },
	[F_ERRORS] = { "errors", OUT_COUNT, "resident_diff_errors", false,
	    "files and folders that could not be opened or read" },
	[F_STATE] = { "state", OUT_STRING, NULL, false,
	    "same, changed, new, gone, unknown; mixed" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_THEN, "THEN", 7, false },
	{ F_NOW, "NOW", 7, false },
	{ F_STAYED, "STAYED", 7, false },
	{ F_CAME, "CAME", 7, false },
	{ F_WENT, "WENT", 7, false },
	{ F_STATE, "STATE", -7, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table change_table = {
	.fields = fields,
	.count = FIELDS,
	.columns = columns,
	.mode = "--diff",
};

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The end of a part, which may be that of any file. */
static uint64_t
end_of(uint64_t offset, uint64_t length)
{
	return length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
}

/* Bytes that a part of one and a part of the other have in common. */
static uint64_t
overlap(const struct snapshot_range *a, uint64_t offset, uint64_t end)
{
	uint64_t from = most(a->offset, offset), to = a->offset + a->length;

	if (to > end)
		to = end;
	return to > from ? to - from : 0;
}

static uint64_t
within(const struct snapshot_ranges *ranges, const struct num_range *range)
{
	uint64_t end = end_of(range->offset, range->length), sum = 0;

	for (size_t i = 0; i < ranges->count; i++)
		sum += overlap(&ranges->list[i], range->offset, end);
	return sum;
}

/* Bytes that are in both, where B lies within the range that counts. */
static uint64_t
common(const struct snapshot_ranges *a, const struct snapshot_ranges *b)
{
	uint64_t sum = 0;
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		uint64_t a_end = a->list[i].offset + a->list[i].length;
		uint64_t b_end = b->list[j].offset + b->list[j].length;

		sum += overlap(&a->list[i], b->list[j].offset, b_end);
		if (a_end < b_end)
			i++;
		else
			j++;
	}
	return sum;
}

/* Whether it is the same file with the same content. Devices may be numbered anew at boot. */
static bool
is_same(const struct snapshot_file *a, const struct snapshot_file *b)
{
	return a->inode == b->inode && a->size == b->size && a->seconds == b->seconds &&
	    a->nanoseconds == b->nanoseconds;
}

void
change_compare(struct change *change, const struct snapshot_file *then,
    const struct snapshot_file *now, const struct num_range *range)
{
	enum change_state state = CHANGE_SAME;

	*change = (struct change){ .now = within(&now->ranges, range) };
	if (then)
		change->then = within(&then->ranges, range);
	else if (change->now)
		state = CHANGE_NEW;
	if (then && !is_same(then, now))
		state = CHANGE_CHANGED;
	change->files[state] = 1;
	if (state == CHANGE_CHANGED)
		return;
	change->stayed = then ? common(&then->ranges, &now->ranges) : 0;
	change->came = change->now - change->stayed;
	change->went = change->then - change->stayed;
}

void
change_gone(struct change *change, const struct snapshot_file *then, const struct num_range *range)
{
	*change = (struct change){ .then = within(&then->ranges, range) };
	change->went = change->then;
	change->files[CHANGE_GONE] = 1;
}

void
change_add(struct change *sum, const struct change *part)
{
	for (int i = 0; i < CHANGE_STATES; i++)
		sum->files[i] += part->files[i];
	sum->then += part->then;
	sum->now += part->now;
	sum->stayed += part->stayed;
	sum->came += part->came;
	sum->went += part->went;
	sum->errors += part->errors;
}

bool
change_differs(const struct change *change)
{
	return change->came || change->went || !change->files[CHANGE_SAME];
}

static uint64_t
count_files(const struct change *sum)
{
	uint64_t count = 0;

	for (int i = 0; i < CHANGE_STATES; i++)
		count += sum->files[i];
	return count;
}

/* The state that all files have. */
static const char *
state_name(const struct change *sum, uint64_t files)
{
	static const char *const names[] = { "same", "changed", "new", "gone", "unknown" };

	for (int i = 0; files && i < CHANGE_STATES; i++)
		if (sum->files[i] == files)
			return names[i];
	return files ? "mixed" : NULL;
}

void
change_values(const struct change *sum, const char *path, struct out_value *values)
{
	uint64_t files = count_files(sum), known = files - sum->files[CHANGE_UNKNOWN];

	memset(values, 0, FIELDS * sizeof *values);
	values[F_PATH] = out_string(path);
	values[F_FILES] = out_number(files);
	values[F_CHANGED] = out_number(sum->files[CHANGE_CHANGED]);
	values[F_NEW] = out_number(sum->files[CHANGE_NEW]);
	values[F_GONE] = out_number(sum->files[CHANGE_GONE]);
	values[F_UNKNOWN] = out_number(sum->files[CHANGE_UNKNOWN]);
	values[F_ERRORS] = out_number(sum->errors);
	values[F_STATE] = out_string(state_name(sum, files));
	if (files && !known)
		return;
	values[F_THEN] = out_number(sum->then);
	values[F_NOW] = out_number(sum->now);
	if (known && known == sum->files[CHANGE_CHANGED])
		return;
	values[F_STAYED] = out_number(sum->stayed);
	values[F_CAME] = out_number(sum->came);
	values[F_WENT] = out_number(sum->went);
}
