/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cell.h"
#include "num.h"
#include "tap.h"

static const struct out_field ratio = { "ratio", OUT_PERCENT, "ratio", false, "a ratio", false };
static const struct out_field estimate = { "ratio_est", OUT_PERCENT, "ratio", false, "a ratio",
	.estimate = true };
static const struct out_column column = { 0 };

static void
check(uint64_t part, uint64_t whole, const char *plain, const char *text, const char *prom)
{
	struct out_value value = out_percent(part, whole);
	char cell[CELL], shown[CELL];

	cell_plain(cell, &ratio, &value, false);
	is(cell, plain, plain);
	cell_text(cell, &column, &ratio, &value);
	is(cell, text, text);
	cell_plain(cell, &ratio, &value, true);
	is(cell, prom, prom);
	cell_text(cell, &column, &estimate, &value);
	snprintf(shown, sizeof shown, "%sest", text);
	is(cell, shown, shown);
}

int
main(void)
{
	char cell[CELL];
	struct out_value none = out_percent(0, 0);

	check(0, 5, "0.00", "0.00%", "0.000000");
	check(5, 5, "100.00", "100.00%", "1.000000");
	check(1, 3, "33.33", "33.33%", "0.333333");
	check(2, 3, "66.67", "66.67%", "0.666667");
	check(409602, 409603, "99.99", "99.99%", "0.999998");
	check(1, 409603, "0.01", "0.01%", "0.000002");
	check(UINT64_MAX - 1, UINT64_MAX, "99.99", "99.99%", "0.999999");
	check(1, UINT64_MAX, "0.01", "0.01%", "0.000001");
	check(UINT64_MAX, UINT64_MAX, "100.00", "100.00%", "1.000000");
	cell_text(cell, &column, &ratio, &none);
	is(cell, "-", "of nothing there is none");
	return tap_done();
}
