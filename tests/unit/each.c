/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "each.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
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

#define SIZE 3

/* Gives a file that has no name any more and is open for nothing, and a failure. */
static void
find(size_t operand, struct each_run *run, void *argument)
{
	char name[] = "/tmp/hotset-each.XXXXXX", link[32];
	int fd = mkstemp(name);

	(void)argument;
	if (operand > 0)
		return;
	if (write(fd, "abc", SIZE) == SIZE && unlink(name) == 0) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		each_found(run, "held", open(link, O_PATH | O_CLOEXEC));
	}
	close(fd);
	each_failed(run, "failed", EXDEV);
}

static void
read_it(struct each_file *file, void *argument)
{
	char text[2 * SIZE];

	(void)argument;
	*(char *)file->result = read(file->fd, text, sizeof text) == SIZE;
}

static void
check(const struct each_file *file, void *argument)
{
	size_t *operands = argument;

	++*operands;
	if (file->error)
		ok(file->error == EXDEV && strcmp(file->path, "failed") == 0, "a failure");
	else
		ok(*(char *)file->result && file->length == SIZE && strcmp(file->path, "held") == 0,
		    "a file that is held");
}

static void
found(void)
{
	struct select select = SELECT_ALL;
	size_t operands = 0;
	char *names[] = { "some", "none" };
	struct each each = {
		.select = &select,
		.result_size = 1,
		.find = find,
		.work = read_it,
		.report = check,
		.argument = &operands,
	};

	ok(each_run(&each, names, 2) == 0, "files found otherwise");
	ok(operands == 2, "all of them");
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
	found();
	hung(argv[0]);
	failed = tap_done();
	fflush(stdout);
	_exit(failed); /* what a thread hung in was never freed, which is no leak */
}
