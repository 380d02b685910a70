/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "residency.h"
#include "stop.h"
#include "tap.h"

static char told[256];

static void
complain(const char *path, const char *why)
{
	(void)path;
	snprintf(told, sizeof told, "%s", why);
}

static void
event(const char *text, void *argument)
{
	(void)text;
	(void)argument;
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

/* Until FILES are known, for two seconds. */
static bool
tend(struct keeper *keeper, uint64_t files)
{
	for (int i = 0; i < 100 && keeper->holds[0].files != files; i++) {
		keeper_tend(keeper);
		usleep(20000);
	}
	return keeper->holds[0].files == files;
}

static void
make(const char *folder, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		exit(1);
}

/* What is due soon is due soon. */
static void
test_folder(char *folder)
{
	struct select select = SELECT_ALL;
	struct keeper keeper = { .select = &select,
		.operands = &folder,
		.count = 1,
		.complain = complain,
		.event = event };
	char inner[64];
	uint64_t due;

	snprintf(inner, sizeof inner, "%s/inner", folder);
	make(folder, "a");
	ok(keeper_begin(&keeper, NULL) == 0 && keeper_survey(&keeper) == 0, "a folder");
	keeper.allowed = 100 * keeper.asked;
	ok(mkdir(inner, 0700) == 0 && keeper_pin(&keeper) == 0 && tend(&keeper, 1),
	    "one comes after the first pass");
	make(inner, "b");
	ok(tend(&keeper, 2), "what is new in it is seen");
	due = keeper_tend(&keeper);
	ok(due < stop_now() + 1000000000, "the next look is soon");
	ok(keeper.checked < stop_now() + 1000000000, "and so is the next measure");
	keeper_release(&keeper);
	keeper_end(&keeper);
}

static bool
refuse(void *argument)
{
	++*(int *)argument;
	return false;
}

static void
test_breathe(char *path)
{
	struct select select = SELECT_ALL;
	int calls = 0;
	struct keeper keeper = { .select = &select,
		.operands = &path,
		.count = 1,
		.complain = complain,
		.event = event,
		.breathe = refuse,
		.argument = &calls };

	ok(keeper_begin(&keeper, NULL) == 0 && keeper_survey(&keeper) == 0 && calls > 0 &&
		keeper.enough,
	    "who is asked while it works may end it");
	keeper_release(&keeper);
	keeper_end(&keeper);
}

int
main(void)
{
	char folder[] = "/tmp/hotset-keeper.XXXXXX", command[64];
	char path[] = "/tmp/hotset-keeper.XXXXXX", other[sizeof path + 2];
	char *names[] = { path, other };
	int fd = mkstemp(path);

	snprintf(other, sizeof other, "%s.2", path);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		return 1;
	if (!mkdtemp(folder))
		return 1;
	test_folder(folder);
	snprintf(command, sizeof command, "rm -r %s", folder);
	if (system(command) != 0)
		return 1;
	test_breathe(path);
	test_grown(path);
	ok(link(path, other) == 0, "a second name");
	test_owner(names);
	unlink(path);
	unlink(other);
	return tap_done();
}
