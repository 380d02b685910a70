/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CONSULT_H
#define HOTSET_CONSULT_H

#include "opts.h"

/*
 * Prints the report of the process that has PIDFILE (inquiry.h), in rows of TABLE, as COMMON
 * says. Returns the exit status: that process's own word, STATUS_FAILED where none runs,
 * STATUS_UNKNOWN where it does not tell; it is said why.
 */
int consult(const char *pidfile, const struct out_table *table, const struct opts_common *common);

#endif
