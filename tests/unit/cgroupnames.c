/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroupnames.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

/* Below it, made-up file system trees. */
static char top[] = "/tmp/hotset-cgroupnames.XXXXXX";
static char tree[64];

/* Makes the folder PATH of the tree, and those above it; returns its inode. */
static uint64_t
make(const char *path)
{
	char full[512];
	struct stat status;

	snprintf(full, sizeof full, "%s%s/", tree, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	return stat(full, &status) == 0 ? status.st_ino : 0;
}

static void
begin_tree(const char *name, const char *mounts)
{
	char path[128];
	FILE *stream;

	snprintf(tree, sizeof tree, "%s/%s", top, name);
	make("/proc/self");
	snprintf(path, sizeof path, "%s/proc/self/mountinfo", tree);
	stream = fopen(path, "w");
	if (!stream || fputs(mounts, stream) < 0 || fclose(stream) != 0)
		perror(path);
}

/* The path of INODE, "none" or "failed". */
static const char *
path_of(struct cgroupnames *groups, uint64_t inode)
{
	const char *path;

	if (cgroupnames_path(groups, inode, &path) < 0)
		return "failed";
	return path ? path : "none";
}

static void
remove_below(const char *path)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r '%s'", path);
	if (system(command) != 0)
		perror(command);
}

static void
test_v2(void)
{
	struct cgroupnames groups;
	uint64_t root, deep, dots, late;
	char path[128];

	begin_tree("v2",
	    "23 1 0:21 / /proc rw - proc proc rw\n"
	    "29 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
	root = make("/sys/fs/cgroup");
	deep = make("/sys/fs/cgroup/system.slice/web service/a");
	dots = make("/sys/fs/cgroup/...");
	ok(cgroupnames_open(&groups, tree) == 0, "version 2");
	is(path_of(&groups, root), "/", "the root");
	is(path_of(&groups, deep), "/system.slice/web service/a", "one far below");
	is(path_of(&groups, dots), "/...", "one of dots");
	late = make("/sys/fs/cgroup/late");
	is(path_of(&groups, late), "/late", "one that was made later");
	is(path_of(&groups, 1), "none", "one that is not there");
	is(path_of(&groups, 2), "none", "another");
	is(path_of(&groups, 1), "none", "the first again");
	is(path_of(&groups, deep), "/system.slice/web service/a", "those that are, after that");
	snprintf(path, sizeof path, "%s/sys/fs/cgroup", tree);
	remove_below(path);
	is(path_of(&groups, 3), "failed", "a hierarchy that went");
	cgroupnames_close(&groups);
}

static void
test_v1(void)
{
	struct cgroupnames groups;
	uint64_t inode, other;

	begin_tree("v1",
	    "29 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	    "30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	    "31 23 0:28 /lxc/box /part rw - cgroup cgroup rw,memory\n"
	    "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	    "33 23 0:28 /lxc /other rw - cgroup cgroup rw,memory\n");
	inode = make("/sys/fs/cgroup/memory/lxc/box");
	other = make("/sys/fs/cgroup/unified/x");
	make("/part");
	make("/other/box");
	ok(cgroupnames_open(&groups, tree) == 0, "version 1");
	is(path_of(&groups, inode), "/lxc/box", "of several mounts, the one that shows all");
	is(path_of(&groups, other), "none", "where version 1 has memory, version 2 has none");
	cgroupnames_close(&groups);
}

static void
test_part(void)
{
	struct cgroupnames groups;
	uint64_t root, below;

	begin_tree("part", "31 23 0:28 /lxc/box /cg\\040x rw - cgroup cgroup rw,memory\n");
	root = make("/cg x");
	below = make("/cg x/a");
	ok(cgroupnames_open(&groups, tree) == 0, "a mount of a part");
	is(path_of(&groups, root), "/lxc/box", "its own");
	is(path_of(&groups, below), "/lxc/box/a", "one below");
	cgroupnames_close(&groups);
}

int
main(void)
{
	struct cgroupnames groups;

	if (!mkdtemp(top))
		return 1;
	test_v2();
	test_v1();
	test_part();
	begin_tree("none", "30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	ok(cgroupnames_open(&groups, tree) < 0 && errno == ENOENT, "no hierarchy has memory");
	remove_below(top);
	return tap_done();
}
