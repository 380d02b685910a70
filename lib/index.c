/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "index.h"

#include <stdlib.h>

#define FIRST_SIZE 64 /* a power of two */

static uint32_t
fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

static void
put(struct index *index, struct index_slot slot)
{
	size_t at = slot.hash & (index->size - 1);

	while (index->slots[at].number)
		at = (at + 1) & (index->size - 1);
	index->slots[at] = slot;
}

static int
grow(struct index *index)
{
	struct index larger = { .size = index->size ? 2 * index->size : FIRST_SIZE,
		.count = index->count };

	larger.slots = calloc(larger.size, sizeof *larger.slots);
	if (!larger.slots)
		return -1;
	for (size_t i = 0; i < index->size; i++)
		if (index->slots[i].number)
			put(&larger, index->slots[i]);
	free(index->slots);
	*index = larger;
	return 0;
}

int
index_add(struct index *index, uint64_t hash, uint32_t number)
{
	if (index->count >= index->size / 4 * 3 && grow(index) < 0)
		return -1;
	put(index, (struct index_slot){ fold(hash), number + 1 });
	index->count++;
	return 0;
}

/* What follows in the same run of slots moves up, so that it is still found. */
static void
close_gap(struct index *index, size_t gap)
{
	size_t mask = index->size - 1;

	for (size_t at = (gap + 1) & mask; index->slots[at].number; at = (at + 1) & mask) {
		size_t home = index->slots[at].hash & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		index->slots[gap] = index->slots[at];
		gap = at;
	}
	index->slots[gap] = (struct index_slot){ 0 };
}

void
index_remove(struct index *index, uint64_t hash, uint32_t number)
{
	size_t mask = index->size - 1, at = fold(hash) & mask;

	if (!index->size)
		return;
	while (index->slots[at].number && index->slots[at].number != number + 1)
		at = (at + 1) & mask;
	if (!index->slots[at].number)
		return;
	close_gap(index, at);
	index->count--;
}

uint32_t
index_next(const struct index *index, uint64_t hash, size_t *at)
{
	size_t mask = index->size - 1;

	while (index->size) {
		const struct index_slot *slot = &index->slots[(fold(hash) + *at) & mask];

		if (!slot->number)
			break;
		++*at;
		if (slot->hash == fold(hash))
			return slot->number - 1;
	}
	return INDEX_NONE;
}

void
index_free(struct index *index)
{
	free(index->slots);
	*index = (struct index){ 0 };
}
