/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_INDEX_H
#define HOTSET_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds the numbers of things by a hash of what they are called: several may have the same
 * hash, and the caller looks which one it is. A zeroed struct is empty.
 */
struct index {
	struct index_slot {
		uint32_t hash, number; /* number is one more: 0 is an empty slot */
	} * slots;
	size_t size, count;
};

#define INDEX_NONE UINT32_MAX

/* Adds NUMBER, which is not there yet; -1 with ENOMEM. */
int index_add(struct index *index, uint64_t hash, uint32_t number);
void index_remove(struct index *index, uint64_t hash, uint32_t number);

/* The numbers of HASH one after the other, from *AT, which is 0 at first; INDEX_NONE at the end.
 * Nothing may be added or removed meanwhile. */
uint32_t index_next(const struct index *index, uint64_t hash, size_t *at);

void index_free(struct index *index);

#endif
