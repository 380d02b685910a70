/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "popular.h"

#include <stdlib.h>

#include "tap.h"

/* All names with their times, in order. */
static const char *
listed(struct popular *popular)
{
	static char text[1000];
	size_t at = 0;

	text[0] = '\0';
	popular_sort(popular);
	for (size_t i = 0; i < popular->count; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s %d; ",
		    popular_name(popular, &popular->list[i]), (int)popular->list[i].times);
	return text;
}

static void
forget(struct popular *popular)
{
	free(popular->list);
	free(popular->names);
	free(popular->slots);
}

static void
order(void)
{
	struct popular popular = { 0 };

	is(listed(&popular), "", "none");
	for (const char *name = "zabcabcaa"; *name; name++)
		popular_add(&popular, (char[]){ *name, '\0' });
	popular_add(&popular, "");
	popular_add(&popular, "ab");
	is(listed(&popular), "a 4; b 2; c 2; z 1;  1; ab 1; ",
	    "what came most often, then what came first");
	forget(&popular);
}

static void
bounds(void)
{
	struct popular few = { .most = 2 }, small = { .bytes = 10 };

	for (const char *name = "abcbd"; *name; name++)
		popular_add(&few, (char[]){ *name, '\0' });
	ok(few.beyond == 2, "what is beyond is counted");
	is(listed(&few), "b 2; a 1; ", "what is in goes on to count");
	forget(&few);
	popular_add(&small, "12345");
	popular_add(&small, "1234");
	popular_add(&small, "123");
	popular_add(&small, "12345");
	ok(small.beyond == 1, "so is what is too long");
	is(listed(&small), "12345 2; 123 1; ", "shorter ones go in");
	forget(&small);
}

static void
many(void)
{
	enum { NAMES = 100000 };
	struct popular popular = { 0 };
	char name[20];
	size_t wrong = 0;

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < NAMES; i++) {
			snprintf(name, sizeof name, "name %d", i);
			if (round < 2 || i == 777)
				wrong += popular_add(&popular, name) < 0;
		}
	ok(wrong == 0 && popular.count == NAMES && popular.beyond == 0, "many names");
	popular_sort(&popular);
	is(popular_name(&popular, &popular.list[0]), "name 777", "the first");
	for (size_t i = 1; i < NAMES; i++)
		wrong += popular.list[i].times != 2;
	ok(wrong == 0, "each as often as it came");
	is(popular_name(&popular, &popular.list[NAMES - 1]), "name 99999", "the last");
	forget(&popular);
}

int
main(void)
{
	order();
	bounds();
	many();
	return tap_done();
}
