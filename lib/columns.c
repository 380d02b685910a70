/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "columns.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rows.h"

#define WIDTH      7
#define NAME_WIDTH 32 /* of a string with others behind it */

/* The column that TABLE has for the field, if it has one. */
static const struct out_column *
known_column(const struct out_table *table, int field)
{
	const struct out_column *column = table->columns;

	while (column->head && column->field != field)
		column++;
	return column->head ? column : NULL;
}

/* The field's name in capitals; bytes say themselves what they are. */
static void
make_head(char *head, size_t size, const char *name)
{
	size_t length = strlen(name);

	if (length > 6 && strcmp(name + length - 6, "_bytes") == 0)
		length -= 6;
	if (length >= size)
		length = size - 1;
	for (size_t i = 0; i < length; i++)
		head[i] = (char)toupper((unsigned char)name[i]);
	head[length] = '\0';
}

static void
add_column(struct columns *columns, const struct out_table *table, int at, int field)
{
	const struct out_column *known = known_column(table, field);
	struct out_column *column = &columns->columns[at];
	int width;

	columns->from[at] = field;
	columns->fields[at] = table->fields[field];
	if (known)
		*column = *known;
	else {
		make_head(columns->heads[at], sizeof columns->heads[at], table->fields[field].name);
		width = (int)strlen(columns->heads[at]);
		*column = (struct out_column){
			.head = columns->heads[at],
			.width = width < WIDTH ? WIDTH : width,
		};
	}
	column->field = at;
	if (table->fields[field].kind == OUT_STRING && !column->width)
		column->width = -NAME_WIDTH;
}

/* Whether the field is among the first COUNT columns. */
static bool
is_chosen(const struct columns *columns, int count, int field)
{
	for (int i = 0; i < count; i++)
		if (columns->from[i] == field)
			return true;
	return false;
}

/* Adds the labels that are not among the first COUNT columns; returns how many there are then. */
static int
add_labels(struct columns *columns, const struct out_table *table, int count)
{
	for (int field = 0; field < table->count; field++)
		if (table->fields[field].kind == OUT_STRING && table->fields[field].metric &&
		    !is_chosen(columns, count, field))
			add_column(columns, table, count++, field);
	return count;
}

int
columns_choose(struct columns *columns, const struct out_table *table, const char *list,
    bool labels, const char **wrong)
{
	int count = 0;

	memset(columns, 0, sizeof *columns);
	for (const char *name = list; name; count++) {
		size_t length = strcspn(name, ",");
		char key[64];
		int field = -1;

		if (length < sizeof key) {
			snprintf(key, sizeof key, "%.*s", (int)length, name);
			field = rows_field(table, key);
		}
		if (field < 0 || is_chosen(columns, count, field)) {
			*wrong = name;
			errno = field < 0 ? EINVAL : EEXIST;
			return -1;
		}
		add_column(columns, table, count, field);
		name = name[length] ? name + length + 1 : NULL;
	}
	if (labels)
		count = add_labels(columns, table, count);
	columns->table = (struct out_table){
		.fields = columns->fields,
		.count = count,
		.columns = columns->columns,
	};
	return 0;
}
