/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_JUDGE_H
#define HOTSET_TRUTH_JUDGE_H

#include "observer.h"
#include "truth.h"

/* Prints test NUMBER: what was counted beside what happened. Returns whether it is right. */
bool judge(const struct workload *load, const struct truth *truth, const struct figures *counted,
    unsigned number);

/* How many calls went uncounted at least, where that may be. */
unsigned long long judge_missing(const struct truth *truth, const struct figures *counted);

#endif
