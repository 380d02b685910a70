/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "select.h"

#include "status.h"
#include "tap.h"

static bool
admits(const char *include, const char *exclude, const char *path)
{
	struct select select = SELECT_ALL;
	const char *slash = strrchr(path, '/');

	if (include)
		select.include = (struct opts_words){ &include, 1 };
	if (exclude)
		select.exclude = (struct opts_words){ &exclude, 1 };
	return select_admits(&select, path, slash ? slash + 1 : path);
}

static void
checks(void)
{
	char *names[] = { "b", "a", "c", "a" };
	struct select select = SELECT_ALL;

	ok(select_check(&select, OUT_TEXT, names, 0) == STATUS_UNKNOWN, "no operand");
	ok(select_check(&select, OUT_TEXT, names, 4) == STATUS_DONE, "text: a name twice");
	ok(select_check(&select, OUT_PROM, names, 4) == STATUS_UNKNOWN, "prom: a name twice");
	ok(select_check(&select, OUT_PROM, names, 3) == STATUS_DONE, "prom: different names");
	select.nul = true;
	ok(select_check(&select, OUT_TEXT, names, 3) == STATUS_UNKNOWN, "-0 without a list");
	select.files_from = "c";
	ok(select_check(&select, OUT_TEXT, names, 0) == STATUS_DONE, "-0 and a list");
	ok(select_check(&select, OUT_PROM, names, 2) == STATUS_DONE, "prom: and its name");
	ok(select_check(&select, OUT_PROM, names, 3) == STATUS_UNKNOWN, "prom: its name too");
}

int
main(void)
{
	const char *globs[] = { "*.a", "*.b" };
	struct select select = SELECT_ALL;

	ok(admits(NULL, NULL, "x/y"), "no globs: all");
	ok(admits("*.c", NULL, "x/y.c"), "include: the name");
	ok(!admits("*.c", NULL, "x.c/y.h"), "include: not the folder's");
	ok(!admits(NULL, "*.c", "x/y.c"), "exclude: the name");
	ok(admits(NULL, "x", "x/y"), "exclude: not the folder's name");
	ok(!admits("*.c", "y.*", "x/y.c"), "exclude wins over include");
	ok(admits("x/*", NULL, "x/y/z"), "a slash in the glob: the path, * matches slashes");
	ok(!admits("y/*", NULL, "x/y/z"), "a slash in the glob: the whole path");
	ok(admits("[!.]*", NULL, "x/y"), "brackets");
	ok(admits("x?z", NULL, "x\xffz"), "? is a byte that is no UTF-8");
	ok(admits("*\n*", NULL, "a\nb"), "newline");
	select.include = (struct opts_words){ globs, 2 };
	ok(select_admits(&select, "x.b", "x.b"), "any of several includes");
	ok(!select_admits(&select, "x.c", "x.c"), "none of several includes");
	ok(!select_prunes(&select, "x.a", "x.a"), "includes do not prune folders");
	select.exclude = (struct opts_words){ globs, 1 };
	ok(select_prunes(&select, "x/y.a", "y.a"), "excludes do");
	checks();
	return tap_done();
}
