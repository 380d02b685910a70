/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EVICTION_H
#define HOTSET_EVICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "evict.h"
#include "evicted.h"
#include "left.h"
#include "report.h"
#include "select.h"

/*
 * What warm does with --evict: drops the selected files from the page cache, and reports what
 * is there still, and why; or, as a dry run, what would be.
 */
struct eviction {
	const struct select *select;
	struct report report; /* open, and closed by the caller */
	unsigned workers;
	bool force;   /* files that others use as well */
	bool dry_run; /* drops nothing */

	/* its own */
	struct evict_tools tools;
	struct left left;
	size_t operand; /* that current is of */
	struct evicted current, all;
	bool worked; /* some operand did */
	int status;
};

/* Evicts and reports; returns the exit status. */
int eviction_run(struct eviction *eviction);

#endif
