/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_UNMEASURED_H
#define HOTSET_UNMEASURED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reports how many of the FILES of NAME nobody tells us about: those of others (HIDDEN), and
 * those that are kept ELSEWHERE than in the page cache. False where there are none.
 */
bool unmeasured_explain(const char *name, uint64_t files, uint64_t hidden, uint64_t elsewhere);

#endif
