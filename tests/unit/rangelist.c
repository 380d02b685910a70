/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rangelist.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

static int fd;

/* All that a list of LENGTH bytes holds, in words: "NAME OFFSET+LENGTH ...; ". Refilled after
 * each STEP bytes. */
static const char *
reading(const char *text, size_t length, char end, size_t step)
{
	static char answer[100000];
	static struct rangelist reader;
	struct list list = { .fd = -1, .end = end };
	size_t done = 0, at = 0;
	const char *name = "";
	int got;

	answer[0] = '\0';
	list.size = 2 * length + RANGELIST_LINE;
	list.buffer = malloc(list.size);
	while (list.buffer && (got = rangelist_next(&reader, &list, &name)) != 0) {
		size_t count = 0;
		const struct num_range *parts = got > 0 ? rangelist_parts(&reader, &count) : NULL;

		if (got < 0 && errno == EAGAIN) {
			size_t more = length - done < step ? length - done : step;

			memcpy(list.buffer + list.filled, text + done, more);
			list.filled += more;
			done += more;
			list.finished = more == 0;
			continue;
		}
		if (at > sizeof answer - 2 * PATH_MAX)
			continue;
		at += (size_t)sprintf(answer + at, "%s%s", got < 0 ? strerror(errno) : name,
		    got > 0 && !parts ? " whole" : "");
		for (size_t i = 0; i < count && at < sizeof answer - 100; i++)
			at += (size_t)sprintf(answer + at, " %llu+%llu",
			    (unsigned long long)parts[i].offset,
			    (unsigned long long)parts[i].length);
		at += (size_t)sprintf(answer + at, "; ");
	}
	ranges_free(&reader.files[0].ranges);
	ranges_free(&reader.files[1].ranges);
	reader = (struct rangelist){ 0 };
	free(list.buffer);
	return answer;
}

/* The same in one piece and byte by byte. */
static void
reads(const char *text, const char *wanted, const char *name)
{
	is(reading(text, strlen(text), '\n', 1 << 20), wanted, name);
	is(reading(text, strlen(text), '\n', 1), wanted, name);
}

static void
lines(void)
{
	reads("", "", "nothing");
	reads("a\nb\na\na\n", "a whole; b whole; a whole; a whole; ", "names only");
	reads("0:5\ta\n7:1\ta\n0:9\tb", "a 0+5 7+1; b 0+9; ", "lines of a path are one file");
	reads("0:5\ta\na\n7:1\ta\n", "a 0+5; a whole; a 7+1; ", "but not across a whole one");
	reads("0:5\ta\n1:1\tb\n6:5\ta\n", "a 0+5; b 1+1; a 6+5; ", "or another path");
	reads("7:3\ta\n0:5\ta\n4:1\ta\n2:9\ta\n20:1\ta\n", "a 0+11 20+1; ",
	    "in any order, and overlapping: each byte once");
	reads("0:0\ta\n", "a 0+0; ", "an empty range is none, not all");
	reads("0:5\t\n:5\tx\n5:\tx\n5\tx\n0:5 x\n-1:5\tx\n0x1:5\tx\n",
	    "0:5\t whole; :5\tx whole; 5:\tx whole; 5\tx whole; 0:5 x whole; -1:5\tx whole; "
	    "0x1:5\tx whole; ",
	    "what is no range is a name");
	reads("./0:5\tx\n0:5\t0:5\tx\n", "./0:5\tx whole; 0:5\tx 0+5; ", "names that look so");
	reads("0:5\ta\tb\\n \n", "a\tb\\n  0+5; ", "the name is as it is");
	reads("18446744073709551615:0\ta\n0:18446744073709551615\ta\n",
	    "a 0+18446744073709551615; ", "the largest");
	reads("1:18446744073709551615\ta\n18446744073709551616:1\ta\n0:9999999999999999999999\ta\n"
	      "0:1\tb\n",
	    "Numerical result out of range; Numerical result out of range; "
	    "Numerical result out of range; b 0+1; ",
	    "too large");
	reads("9223372036854775808:9223372036854775807\ta\n5:1\ta\n",
	    "a 5+1 9223372036854775808+9223372036854775807; ", "sums near the largest");
	is(reading("0:1\ta\nb\0"
		   "1:1\ta\nb\0c",
	       18, '\0', 1),
	    "a\nb 0+2; c whole; ", "names that hold newlines");
	is(reading("0:1\ta\0"
		   "1:1\ta",
	       11, '\0', 3),
	    "No message of desired type; a 0+1; ", "a last name that is cut off");
	is(reading("0:1\ta\0b\n0:1\ta\n", 14, '\n', 3), "Invalid argument; a 0+1; ",
	    "a line that holds NUL");
}

static void
long_names(void)
{
	static char text[2 * PATH_MAX + 200];
	size_t prefix = (size_t)sprintf(text, "18446744073709551615:0\t");

	memset(text + prefix, 'x', PATH_MAX - 1);
	memcpy(text + prefix + PATH_MAX - 1, "\nb\n", 4);
	ok(strlen(reading(text, strlen(text), '\n', 100)) ==
		PATH_MAX - 1 + strlen(" 0+0; b whole; "),
	    "a path of PATH_MAX - 1 bytes");
	memset(text + prefix, 'x', PATH_MAX);
	memcpy(text + prefix + PATH_MAX, "\n0:1\tb\n", 8);
	is(reading(text, strlen(text), '\n', 100), "File name too long; b 0+1; ", "one more");
}

static void
rubbish(void)
{
	static const char alphabet[] = "01:\t\nab9";
	char text[200];

	srand(1);
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof text; i++)
			text[i] = alphabet[rand() % 8];
		reading(text, sizeof text, '\n', 1 + (size_t)rand() % 64);
	}
	ok(1, "rubbish ends");
}

static void
round_trip(void)
{
	struct num_range list[] = { { 0, 4096 }, { 8192, 1 }, { 1ULL << 40, 5 } };
	struct ranges ranges = { list, 3, 3 };
	char text[200];
	FILE *stream = fdopen(fd, "w+");

	ok(stream && rangelist_write(stream, &ranges, "new\nline", true, true) == 0 &&
		rangelist_write(stream, &ranges, "0:1\tx", true, true) == 0 && fflush(stream) == 0,
	    "a list is written");
	is(reading(text, (size_t)pread(fd, text, sizeof text, 0), '\0', 7),
	    "new\nline 0+4096 8192+1 1099511627776+5; 0:1\tx 0+4096 8192+1 1099511627776+5; ",
	    "and read again");
}

int
main(void)
{
	fd = memfd_create("rangelist", 0);
	if (fd < 0)
		return 99;
	lines();
	long_names();
	rubbish();
	round_trip();
	return tap_done();
}
