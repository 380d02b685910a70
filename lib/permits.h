/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PERMITS_H
#define HOTSET_PERMITS_H

#include <stdbool.h>

#include "hooks.h"
#include "reason.h"

/* What the running kernel does with BPF programs, as far as it can be told before the large
 * ones are tried. Those that fail set the REASON. */

/* Whether it lets us load any at all. */
bool permits_programs(struct reason *reason);

/* Whether it may have TIER. */
bool permits_tier(enum hook_tier tier, struct reason *reason);

/* Whether it has kprobes, and lets us use them. */
bool permits_kprobes(void);

/* Whether it may preempt programs; those of kprobes it never does. */
bool permits_preemption(void);

/* Whether those at tracepoints are no exception, as they are before 7.0. */
bool permits_preemption_traced(void);

/* Whether it always gives programs storage of a task's, also while another was put aside. */
bool permits_storage(void);

/* Whether the numbers of processes here are those that programs know: those of the initial
 * namespace. */
bool permits_pids(void);

#endif
