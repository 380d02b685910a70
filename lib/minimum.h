/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MINIMUM_H
#define HOTSET_MINIMUM_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

/*
 * Whether at least MINIMUM percent (below 0: no condition) of what NAME holds is in memory:
 * RESIDENT of WHOLE. Reports through diag where not, or where it cannot be told: KNOWN says
 * whether the two are all of it. Of nothing at all it cannot be told, as there may be a mistake
 * in what was asked for; only 0 percent of it are there. IS is the verb: "is", or "would be" of
 * what is only planned.
 */
enum status minimum_check(const char *name, const char *is, double minimum, bool known,
    uint64_t resident, uint64_t whole);

#endif
