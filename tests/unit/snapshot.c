/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "past.h"
#include "tap.h"

#define TITLE "hotset snapshot 1\n"
#define ENTRY "file\t1\t2\t8192\t5.000000000\t/a\n"

static char path[] = "/tmp/hotset-snapshot.XXXXXX"; /* to write to */
static char memory[40];                             /* to read from: many times */
static int fd;
static struct snapshot_reader reader;

static void
put(const char *text, size_t length)
{
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, length, 0) != (ssize_t)length)
		exit(99);
}

/* Whether what was read of a file is possible at all. */
static bool
makes_sense(const struct snapshot_file *file)
{
	uint64_t end = 0;

	for (size_t i = 0; i < file->ranges.count; i++) {
		const struct snapshot_range *range = &file->ranges.list[i];

		if (range->offset < end || range->length == 0 || range->heat < SNAPSHOT_NO_HEAT)
			return false;
		end = range->offset + range->length;
		if (end <= range->offset || end > file->size)
			return false;
	}
	return file->path[0] == '/' && strlen(file->path) < PATH_MAX &&
	    file->nanoseconds < 1000000000;
}

/* Reads all of it: where and why it is refused, "nonsense" where it should be, or "". */
static const char *
reading(const char *text, size_t length)
{
	static char answer[200];
	const char *nonsense = "";
	int got;

	put(text, length);
	got = snapshot_open(&reader, memory);
	if (got == 0)
		while ((got = snapshot_next(&reader)) > 0)
			if (!makes_sense(&reader.file))
				nonsense = "nonsense";
	snprintf(answer, sizeof answer, "%s", got < 0 ? "" : nonsense);
	if (got < 0)
		snprintf(answer, sizeof answer, "%d: %s", (int)reader.number,
		    errno == EBADMSG ? reader.wrong : strerror(errno));
	snapshot_close(&reader);
	return answer;
}

#define reads(text) reading(text, sizeof(text) - 1)

static const struct snapshot_file sample = {
	.path = "/new\nline\ttab\\back\xff\x7f\xc2\x9b \xc3\xa4",
	.device = UINT64_MAX,
	.inode = 7,
	.size = INT64_MAX,
	.seconds = INT64_MIN,
	.nanoseconds = 999999999,
};

/* A snapshot of several files into path, and its text. */
static size_t
written(char *text, size_t size)
{
	struct snapshot_range ranges[] = { { 0, 4096, SNAPSHOT_NO_HEAT }, { 4096, 4096, 0 },
		{ 8192, 1, 2 }, { INT64_MAX - 1, 1, INT_MAX } };
	struct snapshot_file file = sample;
	struct snapshot_writer writer;
	size_t length;
	FILE *stream;

	file.ranges = (struct snapshot_ranges){ ranges, 4, 4 };
	ok(snapshot_create(&writer, path) == 0, "a snapshot begins");
	ok(snapshot_add(&writer, &file) == 0, "a file");
	file.path = "/b";
	file.seconds = INT64_MAX;
	file.ranges.count = 0;
	ok(snapshot_add(&writer, &file) == 0, "a file of which nothing is in memory");
	ok(snapshot_commit(&writer) == 0, "it ends");
	snapshot_drop(&writer);
	stream = fopen(path, "r");
	length = stream ? fread(text, 1, size, stream) : 0;
	if (stream)
		fclose(stream);
	return length;
}

static void
round_trip(void)
{
	struct snapshot_file *file = &reader.file;
	char text[1000];

	written(text, sizeof text);
	ok(snapshot_open(&reader, path) == 0 && snapshot_next(&reader) == 1, "it is read again");
	is(file->path, sample.path, "the path");
	ok(file->device == sample.device && file->inode == sample.inode &&
		file->size == sample.size && file->seconds == sample.seconds &&
		file->nanoseconds == sample.nanoseconds,
	    "what tells the file");
	ok(file->ranges.count == 4 && file->ranges.list[0].heat == SNAPSHOT_NO_HEAT &&
		file->ranges.list[1].heat == 0 && file->ranges.list[2].length == 1 &&
		file->ranges.list[3].offset == INT64_MAX - 1 &&
		file->ranges.list[3].heat == INT_MAX,
	    "the ranges");
	ok(snapshot_next(&reader) == 1, "the second file");
	ok(strcmp(file->path, "/b") == 0 && file->seconds == INT64_MAX && file->ranges.count == 0,
	    "which has no ranges");
	ok(snapshot_next(&reader) == 0, "the end");
	unlink(path);
	ok(snapshot_again(&reader) == 0 && snapshot_next(&reader) == 1,
	    "it begins anew, without name");
	is(file->path, sample.path, "with the first");
	ok(snapshot_again(&reader) == 0 && snapshot_next(&reader) == 1 &&
		snapshot_next(&reader) == 1 && snapshot_next(&reader) == 0,
	    "and from the middle");
	snapshot_close(&reader);
}

static void
too_long(void)
{
	static char longest[PATH_MAX + 1];
	struct snapshot_file file = { .path = longest };
	struct snapshot_writer writer;

	memset(longest, '\n', PATH_MAX);
	longest[0] = '/';
	snapshot_create(&writer, path);
	ok(snapshot_add(&writer, &file) < 0 && errno == ENAMETOOLONG, "a path of PATH_MAX bytes");
	memset(longest, '\x01', PATH_MAX - 1);
	longest[0] = '/';
	longest[PATH_MAX - 1] = '\0';
	ok(snapshot_add(&writer, &file) == 0, "one byte less, each of which takes four");
	ok(snapshot_commit(&writer) == 0, "the snapshot is as good as before");
	snapshot_drop(&writer);
	ok(snapshot_open(&reader, path) == 0 && snapshot_next(&reader) == 1, "and it is read");
	is(reader.file.path, longest, "the longest path");
	ok(snapshot_next(&reader) == 0, "then the end");
	snapshot_close(&reader);
}

static void
refused(void)
{
	is(reads(TITLE "end\t0\t0\n"), "", "an empty snapshot");
	is(reads(TITLE ENTRY "in\t0\t4096\nin\t4096\t4096\t1\nend\t1\t8192\n"), "", "a good one");
	is(reads(""), "1: it does not begin a snapshot (hotset snapshot 1)", "an empty file");
	is(reads("path\tfiles\n"), "1: it does not begin a snapshot (hotset snapshot 1)",
	    "another file");
	is(reads("hotset snapshot 2\nend\t0\t0\n"),
	    "1: a version of the format that is not known here", "a later version");
	is(reads("hotset snapshot 1"), "1: it does not begin a snapshot (hotset snapshot 1)",
	    "a line without end");
	is(reads(TITLE), "2: the end is missing", "only the first line");
	is(reads(TITLE ENTRY), "3: the end is missing", "no end");
	is(reads(TITLE "end\t0\t0"), "2: it is cut off", "an end without newline");
	is(reads(TITLE "end\t1\t0\n"), "2: files or bytes before it are not as many as it says",
	    "a file too few");
	is(reads(TITLE ENTRY "in\t0\t1\nend\t1\t2\n"),
	    "4: files or bytes before it are not as many as it says", "a byte too few");
	is(reads(TITLE "end\t0\t0\n\n"), "3: it is behind the end", "an empty line behind it");
	is(reads(TITLE "end\t0\n"), "2: it is not: end FILES BYTES", "an end without bytes");
	is(reads(TITLE "in\t0\t1\nend\t0\t1\n"), "2: it is none that is known",
	    "a range without file");
	is(reads(TITLE "dir\t1\nend\t0\t0\n"), "2: it is none that is known", "another line");
	is(reads(TITLE ENTRY "in\t0\n"), "3: it is not: in OFFSET LENGTH [HEAT]", "no length");
	is(reads(TITLE ENTRY "in\t0\t1\t1\t1\n"), "3: it is not: in OFFSET LENGTH [HEAT]",
	    "a field too many");
	is(reads(TITLE ENTRY "in\t-1\t1\n"), "3: it is not: in OFFSET LENGTH [HEAT]", "a sign");
	is(reads(TITLE ENTRY "in\t18446744073709551616\t1\n"),
	    "3: it is not: in OFFSET LENGTH [HEAT]", "an offset that is too large");
	is(reads(TITLE ENTRY "in\t0\t1\t2147483648\n"), "3: its heat is no number",
	    "a heat that is too large");
	is(reads(TITLE ENTRY "in\t0\t0\n"), "3: the range is empty, or beyond the size of its file",
	    "an empty range");
	is(reads(TITLE ENTRY "in\t8191\t2\n"),
	    "3: the range is empty, or beyond the size of its file", "beyond the size");
	is(reads(TITLE ENTRY "in\t4096\t18446744073709551615\n"),
	    "3: the range is empty, or beyond the size of its file", "beyond what a number holds");
	is(reads(TITLE ENTRY "in\t0\t4096\nin\t4095\t1\n"),
	    "4: the range is not behind the one before it", "ranges that overlap");
	is(reads(TITLE ENTRY "in\t4096\t1\nin\t0\t1\n"),
	    "4: the range is not behind the one before it", "ranges out of order");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\ta\nend\t1\t0\n"), "2: its path is none",
	    "a path from nowhere");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\t/a\\x00\nend\t1\t0\n"), "2: its path is none",
	    "NUL in a path");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\t/a\\q\nend\t1\t0\n"), "2: its path is none",
	    "no such escape");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\t/a\\\nend\t1\t0\n"), "2: its path is none",
	    "an escape cut short");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\t/a\\xf\nend\t1\t0\n"), "2: its path is none",
	    "a byte cut short");
	is(reads(TITLE "file\t1\t2\t3\t4.00000000\t/a\nend\t1\t0\n"),
	    "2: it is not: file DEVICE INODE SIZE MTIME PATH", "a time of eight digits");
	is(reads(TITLE "file\t1\t2\t9223372036854775808\t4.000000000\t/a\nend\t1\t0\n"),
	    "2: it is not: file DEVICE INODE SIZE MTIME PATH", "a size that no file has");
	is(reads(TITLE "file\t1\t2\t3\t4.000000000\t/a\t\nend\t1\t0\n"),
	    "2: it is not: file DEVICE INODE SIZE MTIME PATH", "a tab in a path");
	is(reads(TITLE "end\t0\t0\0\n"), "2: it holds NUL", "NUL");
}

/* A line without end takes no memory: the first is refused as soon as it is too long. */
static void
endless(void)
{
	static char text[SNAPSHOT_LINE + 100];

	memset(text, 'x', sizeof text);
	memcpy(text, TITLE, sizeof TITLE - 1);
	is(reading(text, sizeof text), "2: it is too long", "a line without end");
}

/* Nobody shall be misled by half a file, or by one with a bit turned. */
static void
rubbish(void)
{
	char text[1000], damaged[1000];
	size_t length = written(text, sizeof text);
	unsigned accepted = 0, nonsense = 0;

	is(reading(text, length), "", "the whole is accepted");
	for (size_t cut = 0; cut < length; cut++)
		accepted += *reading(text, cut) == '\0';
	ok(accepted == 0, "cut off at any byte it is refused");
	srand(1);
	for (int round = 0; round < 20000; round++) {
		memcpy(damaged, text, length);
		for (int flips = 1 + rand() % 3; flips; flips--)
			damaged[(size_t)rand() % length] ^= (char)(1 << rand() % 8);
		nonsense += strcmp(reading(damaged, length), "nonsense") == 0;
	}
	ok(nonsense == 0, "with bits turned it is refused, or makes sense");
	for (int round = 0; round < 2000; round++) {
		for (size_t i = sizeof TITLE - 1; i < length; i++)
			damaged[i] = (char)rand();
		memcpy(damaged, TITLE, sizeof TITLE - 1);
		accepted += *reading(damaged, length) == '\0';
	}
	ok(accepted == 0, "rubbish is refused");
}

static void
forget(struct past *past)
{
	struct past_file *file;

	while ((file = past->last)) {
		past->last = file->last;
		snapshot_ranges_free(&file->then.ranges);
		free(file);
	}
	free(past->files);
	*past = (struct past){ 0 };
}

static void
as_a_whole(void)
{
	static const char text[] = TITLE "file\t1\t1\t9\t5.000000000\t/srv/b\nin\t0\t1\n"
					 "file\t1\t2\t9\t5.000000000\t/srv\n"
					 "file\t1\t3\t9\t5.000000000\t/srv-x\n"
					 "file\t1\t4\t9\t5.000000000\t/srv/a/c\nin\t1\t2\n"
					 "file\t1\t5\t9\t5.000000000\t/srv/b\nin\t2\t3\n"
					 "file\t1\t6\t9\t5.000000000\t/srv0\nend\t6\t6\n";
	struct past past = { 0 };
	size_t count;

	put(text, sizeof text - 1);
	ok(snapshot_open(&reader, memory) == 0 && past_load(&past, &reader) == 0, "it is loaded");
	snapshot_close(&reader);
	ok(past.count == 5, "each path once");
	ok(past_find(&past, "/srv/b")->then.inode == 5, "of one that comes twice, the later");
	ok(past_find(&past, "/srv/b")->then.ranges.list[0].offset == 2, "with its ranges");
	ok(!past_find(&past, "/srv/a") && !past_find(&past, "/z") && !past_find(&past, ""),
	    "what is not there");
	is(past_below(&past, "/srv", &count)[0]->path, "/srv/a/c", "the first below a folder");
	ok(count == 2, "and how many there are");
	past_below(&past, "/", &count);
	ok(count == 5, "all are below the root");
	past_below(&past, "/srv/a/c", &count);
	ok(count == 0, "none is below a file");
	forget(&past);
	put(TITLE ENTRY, sizeof(TITLE ENTRY) - 1);
	ok(snapshot_open(&reader, memory) == 0 && past_load(&past, &reader) < 0, "half of one");
	snapshot_close(&reader);
	forget(&past);
}

int
main(void)
{
	fd = mkstemp(path);
	if (fd < 0 || close(fd) < 0 || (fd = memfd_create("snapshot", 0)) < 0)
		return 99;
	snprintf(memory, sizeof memory, "/proc/self/fd/%d", fd);
	round_trip();
	too_long();
	refused();
	endless();
	rubbish();
	as_a_whole();
	unlink(path);
	return tap_done();
}
