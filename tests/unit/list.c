/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

#define LONG (1 << 20)

/* A list whose content is what is written to *FD. */
static struct list
piped(int *fd, char end)
{
	int ends[2];

	if (pipe(ends) < 0)
		exit(99);
	*fd = ends[1];
	return (struct list){ .fd = ends[0], .end = end, .limit = PATH_MAX };
}

static void
put(int fd, const char *bytes, size_t length)
{
	if (write(fd, bytes, length) != (ssize_t)length)
		exit(99);
}

/* As list_next, with what it fails with in words, and the name that goes with it. */
static const char *
next(struct list *list, const char **name)
{
	*name = "";
	switch (list_next(list, name)) {
	case 0:
		return "end";
	case 1:
		return "name";
	default:
		return errno == EAGAIN      ? "more"
		    : errno == EINVAL       ? "NUL"
		    : errno == ENAMETOOLONG ? "long"
		    : errno == LIST_CUT     ? "cut"
					    : "error";
	}
}

static void
short_names(void)
{
	const char *name;
	int fd;
	struct list list = piped(&fd, '\n');

	is(next(&list, &name), "more", "nothing read yet");
	put(fd, "a\n\nb\0c\nde", 9);
	list_fill(&list);
	is(next(&list, &name), "name", "a name");
	is(name, "a", "the first, whole");
	is(next(&list, &name), "NUL", "a line with NUL");
	is(name, "b", "what stands before it");
	is(next(&list, &name), "more", "half a name");
	close(fd);
	list_fill(&list);
	is(next(&list, &name), "name", "a last name without end");
	is(name, "de", "the last, whole");
	is(next(&list, &name), "end", "the end");
	list_close(&list);
}

/* Where NUL ends names, one that has none is half of one. */
static void
cut_off(void)
{
	const char *name;
	int fd;
	struct list list = piped(&fd, '\0');

	put(fd, "a\0\0/parent/", 11);
	list_fill(&list);
	is(next(&list, &name), "name", "a name with its NUL");
	is(name, "a", "whole");
	is(next(&list, &name), "more", "it may come yet");
	close(fd);
	list_fill(&list);
	is(next(&list, &name), "cut", "a last name without NUL");
	is(name, "/parent/", "what there is of it");
	is(next(&list, &name), "end", "no name");
	list_close(&list);
}

static void
empty(void)
{
	const char *name;
	int fd;
	struct list list = piped(&fd, '\n');

	close(fd);
	list_fill(&list);
	is(next(&list, &name), "end", "an empty list");
	list_close(&list);
}

/* Names around the limit, in one piece. */
static void
limit(char end)
{
	static char text[2 * PATH_MAX + 8];
	const char *name;
	int fd;
	struct list list = piped(&fd, end);

	memset(text, 'x', sizeof text);
	text[PATH_MAX - 1] = text[2 * PATH_MAX] = end;
	memcpy(text + 2 * PATH_MAX + 1, "after\n", 7);
	text[2 * PATH_MAX + 6] = end;
	put(fd, text, 2 * PATH_MAX + 7);
	close(fd);
	list_fill(&list);
	is(next(&list, &name), "name", "PATH_MAX - 1 bytes");
	ok(strlen(name) == PATH_MAX - 1, "all of them");
	is(next(&list, &name), "long", "PATH_MAX bytes");
	ok(strlen(name) == PATH_MAX - 1, "how it begins");
	is(next(&list, &name), "name", "the one after it");
	is(name, "after", "whole");
	list_fill(&list);
	is(next(&list, &name), "end", "and no more");
	list_close(&list);
}

/* A name of a mebibyte, read piece by piece: once too long, and never kept. */
static void
endless(void)
{
	static char text[PATH_MAX];
	const char *name, *got;
	size_t largest = 0, failures = 0;
	int fd;
	struct list list = piped(&fd, '\n');

	memset(text, 'x', sizeof text);
	for (int i = 0; i < LONG / PATH_MAX; i++) {
		put(fd, text, sizeof text);
		list_fill(&list);
		while (strcmp(got = next(&list, &name), "more") != 0)
			failures += strcmp(got, "long") == 0;
		if (list.size > largest)
			largest = list.size;
	}
	put(fd, "x\nafter", 7);
	close(fd);
	list_fill(&list);
	ok(failures == 1, "one failure");
	ok(largest <= 1 << 16, "memory is bounded");
	is(next(&list, &name), "more", "half of the next");
	list_fill(&list);
	is(next(&list, &name), "name", "then the next");
	is(name, "after", "which is whole");
	is(next(&list, &name), "end", "then the end");
	list_close(&list);
}

int
main(void)
{
	short_names();
	cut_off();
	empty();
	limit('\n');
	limit('\0');
	endless();
	return tap_done();
}
