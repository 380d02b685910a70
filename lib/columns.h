/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_COLUMNS_H
#define HOTSET_COLUMNS_H

#include "out.h"

/* The fields that a report was asked to have, in the order asked for. */
struct columns {
	struct out_table table;
	int from[OUT_FIELDS]; /* for each of its fields, the one of the full table */
	struct out_field fields[OUT_FIELDS];
	struct out_column columns[OUT_FIELDS + 1];
	char heads[OUT_FIELDS][32];
};

/*
 * LIST has names of fields of TABLE, by commas, each as rows_field knows it. With LABELS, those
 * that prom tells rows apart by come last, where they are not in it. Returns 0, or -1 with errno:
 * EINVAL where there is no such field, EEXIST for one that comes twice (*WRONG is where its name
 * begins).
 */
int columns_choose(struct columns *columns, const struct out_table *table, const char *list,
    bool labels, const char **wrong);

#endif
