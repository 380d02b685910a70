/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OWNERS_H
#define HOTSET_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#include "cgroupnames.h"
#include "out.h"

/* Which memory cgroups pay for pages, and for how many: sums over files, and their rows. */

#define OWNERS_NONE 0 /* the inode of no cgroup: nobody pays, or nobody knows who */

struct owners_share {
	uint64_t inode; /* of the cgroup's folder */
	uint64_t pages;
};

/* A zeroed struct has none. */
struct owners {
	struct owners_share *list;
	size_t count, size;
};

extern const struct out_table owners_table;

/* Adds PAGES that INODE pays for; -1 with ENOMEM. */
int owners_add(struct owners *owners, uint64_t inode, uint64_t pages);

/* Adds all of PART; -1 with ENOMEM. */
int owners_merge(struct owners *owners, const struct owners *part);

/* A row for each who pays for pages of PATH, the largest first, as GROUPS knows them; -1 with
 * errno. Sorts OWNERS. */
int
owners_report(struct owners *owners, const char *path, struct cgroupnames *groups, struct out *out);

void owners_free(struct owners *owners);

#endif
