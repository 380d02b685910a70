/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "evicted.h"

#include <stdlib.h>

#include "tap.h"

/* The row of EVICTED in kv, to be freed. */
static char *
row(const struct evicted *evicted)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct report report = { 0 };

	if (!stream || out_open(&report.out, &evicted_table, OUT_KV, NULL, stream) < 0)
		return NULL;
	evicted_put(evicted, "x", &report);
	if (report.error || out_commit(&report.out) < 0)
		perror("row");
	out_close(&report.out);
	fclose(stream);
	return text;
}

static bool
has(const char *text, const char *line)
{
	return text && strstr(text, line);
}

/* What a worker leaves of a file whose every figure is another one. */
static struct evicted_file
worked(void)
{
	struct evicted_file result = { .start = 1000000000,
		.end = 3500000000,
		.evict = { .already = 90, .evicted = 50, .resident = 41 } };

	for (int i = 0; i < STAYED_REASONS; i++)
		result.evict.stayed[i] = (uint64_t)i + 1;
	return result;
}

static void
test_file(void)
{
	struct evicted_file result = worked();
	struct each_file file = { .path = "x", .length = 100, .result = &result };
	struct evicted sum = { 0 };
	char *text;

	evicted_file(&sum, &file);
	text = row(&sum);
	ok(has(text,
	       "files=1\nsize_bytes=100\nalready_bytes=90\nevicted_bytes=50\nresident_bytes=41\n"
	       "ratio=41.00\nmapped_bytes=5\nlocked_bytes=4\ndirty_bytes=6\ntmpfs_bytes=2\n"
	       "edge_bytes=3\nunknown_bytes=1\nskipped_bytes=0\nskipped_files=0\n"
	       "failed_files=0\nseconds=2.500\n"),
	    "each figure is where it belongs");
	free(text);
	result.evict.left = INUSE_HELD;
	result.evict.why = RESIDENCY_NO_PERMISSION;
	sum = (struct evicted){ 0 };
	evicted_file(&sum, &file);
	text = row(&sum);
	ok(has(text, "size_bytes=\nalready_bytes=\nevicted_bytes=\nresident_bytes=\nratio=\n") &&
		has(text, "skipped_bytes=\nskipped_files=1\nfailed_files=1\n"),
	    "what cannot be measured is unknown");
	free(text);
}

static void
test_plan(void)
{
	struct evicted_file result = worked();
	struct each_file file = { .path = "x", .length = 100, .result = &result };
	struct evicted sum = { 0 };
	char *text;

	result.evict.resident = 90;
	result.evict.left_bytes = 20;
	evicted_file(&sum, &file);
	ok(evicted_planned(&sum) == 90 - 20 - (1 + 2 + 3 + 4 + 5), "what is dirty would go");
	text = row(&sum);
	ok(has(text, "dirty_bytes=6\n"), "and is told");
	free(text);
	result.evict.dirt_hidden = true;
	evicted_file(&sum, &file);
	text = row(&sum);
	ok(has(text, "mapped_bytes=10\n") && has(text, "dirty_bytes=\n"),
	    "where it is not known of one file, the sum is unknown");
	free(text);
}

int
main(void)
{
	struct evicted sum = { .outcome = { .files = 1, .size = UINT64_MAX - 1 } },
		       one = { .outcome = { .files = 1, .size = 1 } };
	char *text;

	test_file();
	test_plan();
	evicted_add(&sum, &one);
	text = row(&sum);
	ok(!sum.outcome.beyond && has(text, "size_bytes=18446744073709551615\n"),
	    "a sum that 64 bits hold");
	free(text);
	evicted_add(&sum, &one);
	text = row(&sum);
	ok(sum.outcome.beyond && has(text, "files=3\nsize_bytes=\n") &&
		has(text, "skipped_bytes=\n"),
	    "one that they do not is unknown");
	free(text);
	return tap_done();
}
