/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CELL_H
#define HOTSET_CELL_H

#include <stdbool.h>

#include "out.h"

/* One value of a report as text. Strings have no such form: esc.h has their rules. */

#define CELL 64

/* As scripts read it; prom wants ratios from 0 to 1. The value is known. */
void cell_plain(char cell[static CELL], const struct out_field *field,
    const struct out_value *value, bool prom);

/* As people read it, unknown as "-", an estimate as "123est". */
void cell_text(char cell[static CELL], const struct out_column *column,
    const struct out_field *field, const struct out_value *value);

#endif
