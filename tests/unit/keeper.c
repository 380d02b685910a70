/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "residency.h"
#include "tap.h"

static char told[256];

static void
complain(const char *path, const char *why)
{
	(void)path;
	snprintf(told, sizeof told, "%s", why);
}

static void
test_grown(char *path)
{
	struct select select = SELECT_ALL;
	struct keeper keeper = { .select = &select,
		.operands = &path,
		.count = 1,
		.complain = complain };
	uint64_t page = residency_page_size();

	ok(keeper_begin(&keeper, NULL) == 0 && keeper_survey(&keeper) == 0 && keeper.asked == page,
	    "a file of one page");
	keeper.allowed = keeper.asked;
	ok(truncate(path, (off_t)(2 * page)) == 0 && keeper_pin(&keeper) == 0 &&
		keeper.holds[0].pinned == 0 && keeper.partial,
	    "that has grown since is not pinned");
	is(told, "not pinned: files have grown meanwhile, and more is not allowed", "it is said");
	keeper_release(&keeper);
	keeper_end(&keeper);
}

/* Whichever of two names a worker comes to first. */
static void
test_owner(char *names[2])
{
	struct select select = SELECT_ALL;
	int first = 0, rounds = 500;

	for (int i = 0; i < rounds; i++) {
		struct keeper keeper = { .select = &select,
			.operands = names,
			.count = 2,
			.complain = complain };

		if (keeper_begin(&keeper, NULL) == 0 && keeper_survey(&keeper) == 0) {
			keeper.allowed = keeper.asked;
			/* the sanitizers make mlock do nothing, so nothing is pinned */
			if (keeper_pin(&keeper) == 0)
				first += keeper.holds[0].files == 1 && keeper.holds[1].files == 0;
		}
		keeper_release(&keeper);
		keeper_end(&keeper);
	}
	ok(first == rounds, "a file with two names is counted for the first");
}

int
main(void)
{
	char path[] = "/tmp/hotset-keeper.XXXXXX", other[sizeof path + 2];
	char *names[] = { path, other };
	int fd = mkstemp(path);

	snprintf(other, sizeof other, "%s.2", path);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		return 1;
	test_grown(path);
	ok(link(path, other) == 0, "a second name");
	test_owner(names);
	unlink(path);
	unlink(other);
	return tap_done();
}
