/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "footprint.h"

#include <string.h>

#include "num.h"

enum field {
	F_PATH,
	F_FILES,
	F_SIZE,
	F_PAGES,
	F_RESIDENT_PAGES,
	F_RESIDENT,
	F_RATIO,
	F_DIRTY,
	F_WRITEBACK,
	F_EVICTED,
	F_RECENTLY_EVICTED,
	F_UNKNOWN,
	F_ERRORS,
	F_METHOD,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand, processes, or file (-v)" },
	[F_FILES] = { "files", OUT_COUNT, "resident_files", false, "files looked at" },
	[F_SIZE] = { "size_bytes", OUT_BYTES, "resident_size_bytes", false,
	    "their size, or what --range selects of it" },
	[F_PAGES] = { "pages", OUT_COUNT, "resident_pages", false, "pages of these bytes" },
	[F_RESIDENT_PAGES] = { "resident_pages", OUT_COUNT, "resident_resident_pages", false,
	    "of these, pages in memory" },
	[F_RESIDENT] = { "resident_bytes", OUT_BYTES, "resident_resident_bytes", false,
	    "memory that these pages take" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "resident_ratio", false,
	    "resident_pages / pages; none without pages" },
	[F_DIRTY] = { "dirty_bytes", OUT_BYTES, "resident_dirty_bytes", false,
	    "in memory and yet to be written" },
	[F_WRITEBACK] = { "writeback_bytes", OUT_BYTES, "resident_writeback_bytes", false,
	    "being written" },
	[F_EVICTED] = { "evicted_pages", OUT_COUNT, "resident_evicted_pages", false,
	    "pages that were in memory once and left" },
	[F_RECENTLY_EVICTED] = { "recently_evicted_pages", OUT_COUNT,
	    "resident_recently_evicted_pages", false,
	    "of these, pages that memory was too short to keep" },
	[F_UNKNOWN] = { "unknown_files", OUT_COUNT, "resident_unknown_files", false,
	    "files that only count in files: nothing is known of their pages" },
	[F_ERRORS] = { "errors", OUT_COUNT, "resident_errors", false,
	    "files, folders and processes that could not be looked at" },
	[F_METHOD] = { "method", OUT_STRING, NULL, false, "cachestat, mincore, unknown or mixed" },
};

static const struct out_column columns[] = {
	{ F_FILES, "FILES", 8, false },
	{ F_SIZE, "SIZE", 7, false },
	{ F_RESIDENT, "RESIDENT", 8, false },
	{ F_RATIO, "PERCENT", 7, false },
	{ F_DIRTY, "DIRTY", 7, false },
	{ F_UNKNOWN, "UNKNOWN", 7, false },
	{ F_METHOD, "METHOD", -9, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table footprint_table = {
	.fields = fields,
	.count = FIELDS,
	.columns = columns,
};

static void
add_method(struct footprint *sum, enum residency_method method, bool mixed)
{
	if (mixed || (sum->files && sum->method != method))
		sum->mixed = true;
	sum->method = method;
}

void
footprint_file(struct footprint *sum, uint64_t length, const struct residency *residency)
{
	add_method(sum, residency->method, false);
	sum->files++;
	if (residency->method == RESIDENCY_UNKNOWN) {
		sum->unknown++;
		sum->forbidden += residency->why == RESIDENCY_NO_PERMISSION;
		sum->elsewhere += residency->why == RESIDENCY_NOT_PAGE_CACHE;
		return;
	}
	sum->size = num_sum(sum->size, length);
	sum->pages = num_sum(sum->pages, residency->pages);
	sum->resident = num_sum(sum->resident, residency->resident);
	sum->sketchy |= !residency->detailed;
	sum->dirty += residency->dirty;
	sum->writeback += residency->writeback;
	sum->evicted += residency->evicted;
	sum->recently_evicted += residency->recently_evicted;
}

void
footprint_add(struct footprint *sum, const struct footprint *part)
{
	if (part->files)
		add_method(sum, part->method, part->mixed);
	sum->files += part->files;
	sum->size = num_sum(sum->size, part->size);
	sum->pages = num_sum(sum->pages, part->pages);
	sum->resident = num_sum(sum->resident, part->resident);
	sum->dirty += part->dirty;
	sum->writeback += part->writeback;
	sum->evicted += part->evicted;
	sum->recently_evicted += part->recently_evicted;
	sum->unknown += part->unknown;
	sum->errors += part->errors;
	sum->forbidden += part->forbidden;
	sum->elsewhere += part->elsewhere;
	sum->sketchy |= part->sketchy;
}

static const char *
method_name(const struct footprint *sum)
{
	if (sum->files == 0)
		return NULL;
	return sum->mixed ? "mixed" : residency_method_name(sum->method);
}

void
footprint_values(const struct footprint *sum, const char *path, struct out_value *values)
{
	uint64_t page = residency_page_size();

	memset(values, 0, FIELDS * sizeof *values);
	values[F_PATH] = out_string(path);
	values[F_FILES] = out_number(sum->files);
	values[F_UNKNOWN] = out_number(sum->unknown);
	values[F_ERRORS] = out_number(sum->errors);
	values[F_METHOD] = out_string(method_name(sum));
	if (sum->files && sum->unknown == sum->files)
		return;
	values[F_SIZE] = out_sum(sum->size);
	values[F_PAGES] = out_sum(sum->pages);
	values[F_RESIDENT_PAGES] = out_number(sum->resident);
	values[F_RESIDENT] = out_number(sum->resident * page);
	if (sum->pages != NUM_UNKNOWN)
		values[F_RATIO] = out_percent(sum->resident, sum->pages);
	if (sum->sketchy)
		return;
	values[F_DIRTY] = out_number(sum->dirty * page);
	values[F_WRITEBACK] = out_number(sum->writeback * page);
	values[F_EVICTED] = out_number(sum->evicted);
	values[F_RECENTLY_EVICTED] = out_number(sum->recently_evicted);
}
