/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "each.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "stop.h"
#include "tap.h"
#include "walk.h"

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

#define PARTS 5000 /* more than a batch takes at a time */

static void
name(size_t operand, struct each_run *run, void *argument)
{
	static struct num_range many[PARTS];
	const char *path = ((char **)argument)[0];
	struct num_range two[] = { { 1, 2 }, { 10, UINT64_MAX } };
	uint64_t note = 7;
	struct walk_entry entry = { .path = path,
		.length = strlen(path),
		.parts = two,
		.part_count = 2,
		.note = &note };

	(void)operand;
	each_named(run, &entry);
	two[0] = two[1] = (struct num_range){ 0, 0 };
	note = 8; /* both are copied */
	for (size_t i = 0; i < PARTS; i++)
		many[i] = (struct num_range){ 2 * i, 1 };
	entry.parts = many;
	entry.part_count = PARTS;
	each_named(run, &entry);
	each_cut(run);
	entry = (struct walk_entry){ .path = path, .length = strlen(path) };
	each_named(run, &entry);
	entry = (struct walk_entry){ .path = "/dev/null", .length = 9, .note = &note };
	each_named(run, &entry);
	entry.error = EXDEV;
	each_named(run, &entry);
}

/* The sum of what is to be worked on. */
static void
add_up(struct each_file *file, void *argument)
{
	(void)argument;
	for (size_t i = 0; i < file->part_count; i++)
		*(uint64_t *)file->result += file->parts[i].length;
}

static void
compare(const struct each_file *file, void *argument)
{
	uint64_t sum = *(uint64_t *)file->result, size = (uint64_t)file->status.st_size,
		 note = file->note ? *(const uint64_t *)file->note : 0;
	size_t *number = &((size_t *)argument)[1];

	switch (++*number) {
	case 1:
		ok(sum == file->length && sum == 2 + size - 10 && file->offset == 1 && note == 7,
		    "parts are clipped to the file");
		break;
	case 2:
		ok(sum == PARTS && file->length == sum && note == 8, "many parts");
		break;
	case 3:
		ok(!file->parts && !file->note && file->offset == 0 && file->length == size,
		    "a whole file");
		break;
	case 4:
		ok(file->error == ESPIPE && note == 8, "what is none is not opened, and told");
		break;
	default:
		ok(file->error == EXDEV, "what has failed already");
	}
}

static void
named(char *program)
{
	struct select select = SELECT_ALL;
	char *names[] = { program, NULL };
	struct each each = {
		.select = &select,
		.result_size = sizeof(uint64_t),
		.note_size = sizeof(uint64_t),
		.find = name,
		.work = add_up,
		.report = compare,
		.argument = names,
	};

	ok(each_run(&each, names, 1) == 0 && (size_t)names[1] == 5, "files that are named");
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
	named(argv[0]);
	hung(argv[0]);
	failed = tap_done();
	fflush(stdout);
	_exit(failed); /* what a thread hung in was never freed, which is no leak */
}
