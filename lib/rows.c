/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rows_row {
	uint64_t serial;
	const char *below;         /* a line of text, NULL: none */
	struct out_value values[]; /* as many as the table has fields; behind them, strings */
};

int
rows_field(const struct out_table *table, const char *key)
{
	size_t length = strlen(key);

	for (int i = 0; length && i < table->count; i++) {
		const char *name = table->fields[i].name;

		if (strncmp(name, key, length) == 0 && (!name[length] || name[length] == '_'))
			return i;
	}
	return -1;
}

static int
compare_reals(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int
compare_numbers(const struct out_field *field, const struct out_value *a, const struct out_value *b)
{
	switch (field->kind) {
	case OUT_STRING:
		return strcmp(a->string, b->string);
	case OUT_PERCENT:
		return compare_reals((double)a->part / (double)a->whole,
		    (double)b->part / (double)b->whole);
	case OUT_SECONDS:
	case OUT_TIME:
		return compare_reals(a->real, b->real);
	default:
		return a->number < b->number ? 1 : a->number > b->number ? -1 : 0;
	}
}

/* As strcmp: below 0 where A comes before B. */
static int
compare(const struct rows *rows, const struct rows_row *a, const struct rows_row *b)
{
	const struct out_value *left = &a->values[rows->field], *right = &b->values[rows->field];
	int order = 0;

	if (left->known && right->known)
		order = compare_numbers(&rows->table->fields[rows->field], left, right);
	else if (left->known || right->known)
		order = left->known ? -1 : 1;
	if (order)
		return order;
	return a->serial < b->serial ? -1 : 1;
}

static bool
is_string(const struct rows *rows, const struct out_value *values, int field)
{
	return rows->table->fields[field].kind == OUT_STRING && values[field].known;
}

static struct rows_row *
copy(const struct rows *rows, const struct out_value *values, const char *below)
{
	int count = rows->table->count;
	size_t size = sizeof(struct rows_row) + (size_t)count * sizeof *values, strings = 0;
	struct rows_row *row;
	char *end;

	for (int i = 0; i < count; i++)
		if (is_string(rows, values, i))
			strings += strlen(values[i].string) + 1;
	if (below)
		strings += strlen(below) + 1;
	row = malloc(size + strings);
	if (!row)
		return NULL;
	memcpy(row->values, values, (size_t)count * sizeof *values);
	end = (char *)row + size;
	for (int i = 0; i < count; i++) {
		if (!is_string(rows, values, i))
			continue;
		row->values[i].string = end;
		end = stpcpy(end, values[i].string) + 1;
	}
	row->below = below ? strcpy(end, below) : NULL;
	row->serial = rows->added;
	return row;
}

/* The row at AT of the heap sinks to where it belongs: none comes before one below it. */
static void
sink(struct rows *rows, size_t at)
{
	struct rows_row *row = rows->rows[at];

	for (size_t below; (below = 2 * at + 1) < rows->count; at = below) {
		if (below + 1 < rows->count &&
		    compare(rows, rows->rows[below + 1], rows->rows[below]) > 0)
			below++;
		if (compare(rows, row, rows->rows[below]) > 0)
			break;
		rows->rows[at] = rows->rows[below];
	}
	rows->rows[at] = row;
}

static int
grow(struct rows *rows)
{
	size_t size = rows->size ? 2 * rows->size : 64;
	struct rows_row **larger = realloc(rows->rows, size * sizeof *larger);

	if (!larger)
		return -1;
	rows->rows = larger;
	rows->size = size;
	return 0;
}

/* Where as many are there as are wanted, the last of them makes room for an earlier one. */
static void
exchange(struct rows *rows, struct rows_row *row)
{
	struct rows_row *last = rows->rows[0];

	if (compare(rows, row, last) > 0) {
		free(row);
		return;
	}
	rows->rows[0] = row;
	free(last);
	sink(rows, 0);
}

int
rows_add(struct rows *rows, const struct out_value *values, const char *below)
{
	struct rows_row *row;

	if (rows->count == rows->size && grow(rows) < 0)
		return -1;
	row = copy(rows, values, below);
	if (!row)
		return -1;
	rows->added++;
	if (rows->limit && rows->count == rows->limit) {
		exchange(rows, row);
		return 0;
	}
	rows->rows[rows->count++] = row;
	if (rows->count == rows->limit)
		for (size_t at = rows->count / 2; at-- > 0;)
			sink(rows, at);
	return 0;
}

/* Heap sort, since qsort has no room for an argument. */
static void
sort(struct rows *rows)
{
	size_t count = rows->count;

	for (size_t at = count / 2; at-- > 0;)
		sink(rows, at);
	while (rows->count > 1) {
		struct rows_row *last = rows->rows[0];

		rows->rows[0] = rows->rows[--rows->count];
		rows->rows[rows->count] = last;
		sink(rows, 0);
	}
	rows->count = count;
}

int
rows_report(struct rows *rows, struct out *out)
{
	int result = 0;

	sort(rows);
	for (size_t i = 0; i < rows->count && result == 0; i++) {
		const struct rows_row *row = rows->rows[i];

		result = out_row(out, row->values);
		if (result == 0 && row->below)
			result = out_line(out, row->below);
	}
	rows_free(rows);
	return result;
}

void
rows_free(struct rows *rows)
{
	int error = errno;

	while (rows->count)
		free(rows->rows[--rows->count]);
	free(rows->rows);
	rows->rows = NULL;
	rows->size = 0;
	errno = error;
}
