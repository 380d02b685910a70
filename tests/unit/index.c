/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "index.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tap.h"

#define NUMBERS 2000

/* How many of the numbers below NUMBERS are found as HELD says, by hashes of which many are the
 * same. */
static bool
is_as(const struct index *index, const bool *held, uint64_t hashes)
{
	for (uint32_t number = 0; number < NUMBERS; number++) {
		uint32_t found;
		size_t at = 0;

		do
			found = index_next(index, number % hashes, &at);
		while (found != INDEX_NONE && found != number);
		if ((found == number) != held[number])
			return false;
	}
	return true;
}

static void
test_random(uint64_t hashes)
{
	struct index index = { 0 };
	bool held[NUMBERS] = { false }, good = true;

	for (int i = 0; i < 20000; i++) {
		uint32_t number = (uint32_t)(random() % NUMBERS);

		if (held[number])
			index_remove(&index, number % hashes, number);
		else
			good &= index_add(&index, number % hashes, number) == 0;
		held[number] = !held[number];
		if (i % 1000 == 0)
			good &= is_as(&index, held, hashes);
	}
	ok(good && is_as(&index, held, hashes), "what was added and not removed is found");
	index_free(&index);
}

int
main(void)
{
	struct index index = { 0 };
	size_t at = 0;

	ok(index_next(&index, 1, &at) == INDEX_NONE, "nothing is in an empty one");
	index_remove(&index, 1, 1);
	test_random(7);
	test_random(64);
	test_random(1ULL << 40);
	return tap_done();
}
