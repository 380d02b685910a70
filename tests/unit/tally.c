/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tally.h"

#include <stdlib.h>

#include "tap.h"

/* The row of TALLY in kv, to be freed. */
static char *
row(const struct tally *tally)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct report report = { 0 };

	if (!stream || out_open(&report.out, &tally_table, OUT_KV, NULL, stream) < 0)
		return NULL;
	tally_put(tally, "x", &report);
	if (report.error || out_commit(&report.out) < 0)
		perror("row");
	out_close(&report.out);
	fclose(stream);
	return text;
}

int
main(void)
{
	struct tally sum = { .outcome = { .files = 1, .size = UINT64_MAX - 1 },
		.skipped = UINT64_MAX - 1 };
	struct tally one = { .outcome = { .files = 1, .size = 1 }, .skipped = 1 };
	char *text;

	tally_add(&sum, &one);
	text = row(&sum);
	ok(!sum.outcome.beyond && text && strstr(text, "size_bytes=18446744073709551615\n"),
	    "a sum that 64 bits hold");
	free(text);
	tally_add(&sum, &one);
	text = row(&sum);
	ok(sum.outcome.beyond && text && strstr(text, "files=3\n"), "one that they do not");
	ok(text && strstr(text, "size_bytes=\n") && strstr(text, "skipped_bytes=\n") &&
		strstr(text, "ratio=\n"),
	    "is unknown");
	free(text);
	one = (struct tally){ .outcome = { .files = 1, .size = 1 } };
	tally_add(&one, &sum);
	ok(one.outcome.beyond, "as is what that is added to");
	return tap_done();
}
