/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_POPULAR_H
#define HOTSET_POPULAR_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"

/*
 * How often each name came, for a set of names that is bounded: whoever can make names up shall
 * not fill the memory. The bounds hold at once; what comes beyond is only counted.
 */
#define POPULAR_NAMES 1000000
#define POPULAR_BYTES (256U << 20) /* of all names */

struct popular_name {
	size_t at; /* where it starts in the names, which is in order of the first time */
	uint64_t times;
};

struct popular {
	struct popular_name *list;
	size_t count, size;
	char *names;
	size_t names_length, names_size;
	uint64_t beyond;    /* times of names for which there was no room */
	size_t most, bytes; /* the bounds; 0: those above */
	struct hash_key key;
	uint32_t *slots; /* number in the list and 1; 0: free */
	size_t slots_size;
};

/* One more time NAME; -1 with ENOMEM. A zeroed struct has none. */
int popular_add(struct popular *popular, const char *name);

/* Puts the list in order: what came most often first, and of those that came equally often what
 * came first. Nothing can be added any more. */
void popular_sort(struct popular *popular);

/* The name of one of the list. */
const char *popular_name(const struct popular *popular, const struct popular_name *one);

#endif
