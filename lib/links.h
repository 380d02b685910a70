/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LINKS_H
#define HOTSET_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The set of inodes seen, in slots of 16 bytes of which at least three in eight are
 * used: what has several names is counted once. A zeroed struct is an empty set.
 */
struct links {
	struct links_inode {
		uint64_t device, inode;
	} * slots;
	size_t size, count;
};

bool links_has(const struct links *links, uint64_t device, uint64_t inode);

/* Adds an inode: 1 where it is new, 0 where it was there, -1 with ENOMEM. */
int links_add(struct links *links, uint64_t device, uint64_t inode);

void links_free(struct links *links);

#endif
