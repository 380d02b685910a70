/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "each.h"

#include <stdatomic.h>
#include <unistd.h>

#include "stop.h"
#include "tap.h"

struct result {
	char worked;
	char more[63];
};

static size_t reported, stale;

static void
note_work(struct each_file *file, void *argument)
{
	(void)argument;
	memset(file->result, 1, sizeof(struct result));
}

static void
note_report(const struct each_file *file, void *argument)
{
	static const struct result none;

	(void)argument;
	reported++;
	if (file->error && memcmp(file->result, &none, sizeof none) != 0)
		stale++;
}

/* What failed has a result of its own, not that of a file that had its place before. */
static void
results(const char *program)
{
	enum { NAMES = 6000 };
	struct select select = SELECT_ALL;
	static char *names[NAMES];
	struct each each = {
		.select = &select,
		.result_size = sizeof(struct result),
		.work = note_work,
		.report = note_report,
	};

	select.count_links = true;
	for (size_t i = 0; i < NAMES; i++)
		names[i] = (char *)(i / 500 % 2 ? "/nowhere/at/all" : program);
	ok(each_run(&each, names, NAMES) == 0, "files, and names of none");
	ok(reported == NAMES, "all are reported");
	ok(stale == 0, "those that failed without a result");
}

static atomic_int state; /* 1: in work, 2: it may go on, 3: it does */

static void
hang(struct each_file *file, void *argument)
{
	(void)argument;
	atomic_store(&state, 1);
	while (atomic_load(&state) != 2)
		usleep(1000);
	memset(file->result, 1, sizeof(struct result));
	atomic_store(&state, 3);
}

static void
see(const struct each_file *file, void *argument)
{
	(void)file;
	(void)argument;
}

/* What is in its frame is gone when the thread comes back. */
static int __attribute__((noinline)) run_hanging(char *program, const struct select *select)
{
	struct each each = {
		.select = select,
		.result_size = sizeof(struct result),
		.workers = 2,
		.work = hang,
		.report = see,
	};
	int result = each_run(&each, &program, 1);

	memset(&each, 0xff, sizeof each);
	return result;
}

static void
hung(char *program)
{
	static struct select select = SELECT_ALL;

	stop_catch(300000000); /* ns */
	ok(run_hanging(program, &select) == 1, "a thread that hangs is given up, and told of");
	ok(atomic_load(&state) == 1, "it is still at it");
	atomic_store(&state, 2);
	for (int tries = 0; tries < 5000 && atomic_load(&state) != 3; tries++)
		usleep(1000);
	ok(atomic_load(&state) == 3, "it comes back, and what it uses is there");
	usleep(50000);
}

int
main(int argc, char **argv)
{
	int failed;

	(void)argc;
	results(argv[0]);
	hung(argv[0]);
	failed = tap_done();
	fflush(stdout);
	_exit(failed); /* what a thread hung in was never freed, which is no leak */
}
