/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_JUDGE_H
#define HOTSET_TRUTH_JUDGE_H

#include "observer.h"
#include "truth.h"

/* Prints test NUMBER: what was counted beside what happened. Returns whether it is right. */
bool judge(const struct workload *load, const struct truth *truth, const struct figures *counted,
    unsigned number);

/* Events that LOAD was not counted for where it has such a bound: each of its calls is a page. */
unsigned long long judge_missing(const struct workload *load, const struct truth *truth,
    const struct figures *counted);

#endif
