/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chart.h"

#include <stdlib.h>

#include "tap.h"

/* What is drawn of COUNT parts. */
static const char *
drawn(const struct chart_part *parts, size_t count)
{
	static char kept[64];
	char *line = malloc(count + 3); /* no byte more, which the sanitizer sees */

	chart_draw(parts, count, line);
	snprintf(kept, sizeof kept, "%s", line);
	free(line);
	return kept;
}

/* What is drawn of one part with RESIDENT of PAGES pages in memory. */
static const char *
mark(uint64_t resident, uint64_t pages)
{
	return drawn(&(struct chart_part){ pages, resident }, 1);
}

int
main(void)
{
	uint64_t huge = UINT64_MAX;
	struct chart_part parts[] = { { 2, 2 }, { 3, 1 }, { 2, 0 }, { 3, 2 }, { 1, 1 } };

	is(drawn(parts, 0), "[]", "a file without pages");
	is(drawn(parts, 5), "[#. +#]", "a character for each part");
	is(mark(0, 1), "[ ]", "none");
	is(mark(1, 1), "[#]", "all of one page");
	is(mark(1, 1000000), "[.]", "one page is not none");
	is(mark(999999, 1000000), "[+]", "all but one are not all");
	is(mark(499999, 1000000), "[.]", "less than half");
	is(mark(500000, 1000000), "[+]", "half");
	is(mark(2, 3), "[+]", "most of an odd number");
	is(mark(1, 3), "[.]", "less than half of an odd number");
	is(mark(huge - 1, huge), "[+]", "as many pages as a number holds: all but one");
	is(mark(huge / 2, huge), "[.]", "less than half of them");
	is(mark(huge, huge), "[#]", "all of them");
	return tap_done();
}
