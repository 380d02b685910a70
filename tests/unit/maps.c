/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maps.h"

#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tap.h"

static const char text[] =
    "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
    "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
    "35b1800000-35b1820000 r-xp 00000000 fe:1ff 4294967297 /new\\012line  two (deleted)\n"
    "7f00-7f01 rw-s 00000000 00:0e 1044                anon_inode:[perf_event]\n"
    "\n"
    "7f00-7f01 rw-s 00000000 rubbish 1                 /x\n"
    "7f00-7f01 rw-s 00000000 00:05 1x                  /x\n"
    "7f00-7f01 rw-s 00000000 00:05\n"
    "7f00-7f01 rw-s 00000000 00:05 3                   /last";

static void
test_lines(const char *path)
{
	struct maps maps;
	struct maps_entry *entry;

	ok(maps_open(&maps, path) == 0, "opened");
	entry = maps_next(&maps);
	ok(entry && entry->device == makedev(8, 2) && entry->inode == 173521, "device and inode");
	is(entry ? entry->path : "", "/usr/bin/dbus-daemon", "path");
	entry = maps_next(&maps);
	ok(entry && entry->device == makedev(0xfe, 0x1ff) && entry->inode == 4294967297,
	    "large ones; what is no file is left out");
	is(entry ? entry->path : "", "/new\\012line  two (deleted)", "path as written");
	entry = maps_next(&maps);
	is(entry ? entry->path : "", "/last", "rubbish is left out; no newline at the end");
	ok(!maps_next(&maps), "the end");
	maps_close(&maps);
	ok(maps_open(&maps, "/nowhere/at/all") == -1, "no such file");
}

static void
test_unescape(void)
{
	char several[] = "/a\\012\\012b\\012", none[] = "/a\\01";

	ok(maps_unescape(several), "newlines");
	is(several, "/a\n\nb\n", "all of them");
	ok(!maps_unescape(none), "none");
	is(none, "/a\\01", "left as it is");
}

int
main(void)
{
	char path[] = "/tmp/hotset-maps.XXXXXX";
	int fd = mkstemp(path);

	ok(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1, "made");
	close(fd);
	test_lines(path);
	test_unescape();
	unlink(path);
	return tap_done();
}
