/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "links.h"

#include "tap.h"

int
main(void)
{
	struct links links = { 0 };
	int added = 0, again = 0;

	ok(!links_has(&links, 1, 2), "an empty set has none");
	ok(links_add(&links, 1, 2) == 1, "new");
	ok(links_has(&links, 1, 2) && !links_has(&links, 2, 1), "has it, and no other");
	ok(links_add(&links, 1, 2) == 0, "seen");
	ok(links_add(&links, 2, 1) == 1, "another device");
	for (uint64_t i = 0; i < 10000; i++)
		added += links_add(&links, 7, i << 32) == 1;
	for (uint64_t i = 0; i < 10000; i++)
		again += links_add(&links, 7, i << 32) == 0;
	ok(added == 10000, "10,000 new");
	ok(again == 10000, "10,000 seen");
	ok(links.count == 10002, "count");
	links_free(&links);
	ok(links_add(&links, 1, 2) == 1, "new again after links_free");
	links_free(&links);
	return tap_done();
}
