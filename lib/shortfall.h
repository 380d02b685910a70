/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHORTFALL_H
#define HOTSET_SHORTFALL_H

#include "load.h"
#include "status.h"

/*
 * Says what a load did not bring in, and why: the budget, holes that are not cached, memory that
 * something else needs; of a dry run, what it would bring in. Returns the status that is then.
 */
enum status shortfall_explain(const struct load *load);

#endif
