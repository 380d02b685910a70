/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "popular.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *
popular_name(const struct popular *popular, const struct popular_name *one)
{
	return popular->names + one->at;
}

/* The slot of NAME, or the free one where it belongs. */
static uint32_t *
slot_of(const struct popular *popular, const char *name, size_t length)
{
	size_t mask = popular->slots_size - 1,
	       at = (size_t)hash_of(&popular->key, name, length) & mask;

	while (popular->slots[at] &&
	    strcmp(popular_name(popular, &popular->list[popular->slots[at] - 1]), name) != 0)
		at = (at + 1) & mask;
	return &popular->slots[at];
}

/* Room for one more in the slots, of which at most half are used. */
static int
grow_slots(struct popular *popular)
{
	size_t size = popular->slots_size ? 2 * popular->slots_size : 1024;
	uint32_t *slots;

	if (2 * (popular->count + 1) <= popular->slots_size)
		return 0;
	if (!popular->slots)
		hash_begin(&popular->key);
	slots = calloc(size, sizeof *slots);
	if (!slots)
		return -1;
	free(popular->slots);
	popular->slots = slots;
	popular->slots_size = size;
	for (size_t i = 0; i < popular->count; i++) {
		const char *name = popular_name(popular, &popular->list[i]);

		*slot_of(popular, name, strlen(name)) = (uint32_t)i + 1;
	}
	return 0;
}

static int
grow_list(struct popular *popular)
{
	size_t size = popular->size ? 2 * popular->size : 512;
	struct popular_name *larger;

	if (popular->count < popular->size)
		return 0;
	larger = realloc(popular->list, size * sizeof *larger);
	if (!larger)
		return -1;
	popular->list = larger;
	popular->size = size;
	return 0;
}

static int
grow_names(struct popular *popular, size_t length)
{
	size_t needed = popular->names_length + length + 1;
	char *larger;

	if (needed <= popular->names_size)
		return 0;
	larger = realloc(popular->names, needed + needed / 2);
	if (!larger)
		return -1;
	popular->names = larger;
	popular->names_size = needed + needed / 2;
	return 0;
}

static bool
is_full(const struct popular *popular, size_t length)
{
	size_t most = popular->most ? popular->most : POPULAR_NAMES,
	       bytes = popular->bytes ? popular->bytes : POPULAR_BYTES;

	return popular->count >= most || popular->names_length + length + 1 > bytes;
}

int
popular_add(struct popular *popular, const char *name)
{
	size_t length = strlen(name);
	uint32_t *slot;

	if (grow_slots(popular) < 0)
		return -1;
	slot = slot_of(popular, name, length);
	if (*slot) {
		popular->list[*slot - 1].times++;
		return 0;
	}
	if (is_full(popular, length)) {
		popular->beyond++;
		return 0;
	}
	if (grow_list(popular) < 0 || grow_names(popular, length) < 0)
		return -1;
	memcpy(popular->names + popular->names_length, name, length + 1);
	popular->list[popular->count] = (struct popular_name){ popular->names_length, 1 };
	popular->names_length += length + 1;
	*slot = (uint32_t)++popular->count;
	return 0;
}

static int
by_times(const void *a, const void *b)
{
	const struct popular_name *one = a, *other = b;

	if (one->times != other->times)
		return one->times < other->times ? 1 : -1;
	return (one->at > other->at) - (one->at < other->at);
}

void
popular_sort(struct popular *popular)
{
	free(popular->slots);
	popular->slots = NULL;
	popular->slots_size = 0;
	if (popular->count)
		qsort(popular->list, popular->count, sizeof *popular->list, by_times);
}
