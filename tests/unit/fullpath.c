/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fullpath.h"

#include <errno.h>
#include <stdlib.h>

#include "tap.h"

static void
check(const char *folder, const char *path, const char *wanted)
{
	char *full = fullpath(folder, path);

	is(full ? full : "none", wanted, path);
	free(full);
}

int
main(void)
{
	check("/srv", "a", "/srv/a");
	check("/srv", "./a//b/./c/", "/srv/a/b/c");
	check("/srv", ".", "/srv");
	check("/srv", "", "/srv");
	check("/srv", "..", "/srv/..");
	check("/srv", "../.a/...", "/srv/../.a/...");
	check("/srv", "/a", "/a");
	check("/srv", "//a/.", "/a");
	check("/srv", "/", "/");
	check("/", "a", "/a");
	check("/", ".", "/");
	check(NULL, "/a", "/a");
	check(NULL, "a", "none");
	return tap_done();
}
