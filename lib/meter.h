/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_METER_H
#define HOTSET_METER_H

#include <stdbool.h>
#include <sys/types.h>

#include "estimate.h"
#include "probe.h"

/* Where the figures come from: probes that count, or an estimate. */

struct meter_choice {
	enum probe_tier tier;
	bool estimate; /* where nothing can be counted */
	bool only;     /* and do not even try */
};

struct meter {
	struct probe *probe;       /* NULL: an estimate */
	struct estimate *estimate; /* NULL: counted */
	enum scope scope;          /* SCOPE_TARGET: the process that meter_target names */
	bool with_faults;          /* faults are accesses, too */
	const char *pid, *command; /* how rows name that; NULL: not so */
};

/* Sets up what CHOICE allows, for METER's scope. -1 and the reason. */
int meter_open(struct meter *meter, const struct meter_choice *choice, struct reason *reason);
void meter_close(struct meter *meter);

/* Follows process PID and its children. -1 with ESRCH where there is none, else errno. */
int meter_target(struct meter *meter, pid_t pid);

/* Counts from now on. */
void meter_start(struct meter *meter);

/* Says (diag) by what is counted, and where; that it is an estimate, not only with -v. */
void meter_describe(const struct meter *meter);

/* To be called now and then. */
void meter_tidy(struct meter *meter);

/* "full", "tracepoint" ...; "proc" for an estimate. */
const char *meter_tier(const struct meter *meter);

/* Says (diag, a detail) where all pages went that came in. */
void meter_identity(struct meter *meter);

/* The same, and what is missing from the figures. */
void meter_account(struct meter *meter);

#endif
