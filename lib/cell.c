/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cell.h"

#include <stdio.h>
#include <string.h>

#include "num.h"
#include "status.h"

static void
put_percent(char cell[static CELL], const struct out_value *value, bool prom)
{
	uint64_t units = prom ? 1000000 : 10000, one = prom ? units : units / 100;
	unsigned long long portion = num_portion(value->part, value->whole, units);

	snprintf(cell, CELL, prom ? "%llu.%06llu" : "%llu.%02llu", portion / one, portion % one);
}

void
cell_plain(char cell[static CELL], const struct out_field *field, const struct out_value *value,
    bool prom)
{
	switch (field->kind) {
	case OUT_STRING:
		cell[0] = '\0';
		break;
	case OUT_COUNT:
	case OUT_BYTES:
		snprintf(cell, CELL, "%llu", (unsigned long long)value->number);
		break;
	case OUT_PERCENT:
		put_percent(cell, value, prom);
		break;
	case OUT_SECONDS:
	case OUT_TIME:
		snprintf(cell, CELL, "%.3f", value->real);
		break;
	case OUT_STATUS:
		if (prom)
			snprintf(cell, CELL, "%u", (unsigned)value->number);
		else
			snprintf(cell, CELL, "%s", status_name((enum status)value->number));
		break;
	}
}

void
cell_text(char cell[static CELL], const struct out_column *column, const struct out_field *field,
    const struct out_value *value)
{
	if (!value->known)
		strcpy(cell, "-");
	else if (value->shown)
		snprintf(cell, CELL, "%s", value->shown);
	else if (field->kind == OUT_BYTES && column->mebi)
		snprintf(cell, CELL, "%llu", (unsigned long long)(value->number >> 20));
	else if (field->kind == OUT_BYTES)
		num_human(value->number, cell);
	else
		cell_plain(cell, field, value, false);
	if (value->known && field->kind == OUT_PERCENT)
		strcat(cell, "%");
	if (value->known && field->estimate)
		strcat(cell, "est");
}
