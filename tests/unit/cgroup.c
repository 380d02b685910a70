/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "budget.h"
#include "hierarchy.h"
#include "tap.h"
#include "tree.h"

#define M (1ULL << 20)

/* Whether level I of CGROUP is the folder PATH with that hard limit (0: none). */
static int
has_level(const struct cgroup *cgroup, size_t i, const char *path, uint64_t max)
{
	const struct cgroup_level *level = &cgroup->levels[i];

	if (i >= cgroup->count || strcmp(level->path, path) != 0)
		return 0;
	return level->max.set == (max > 0) && (!level->max.set || level->max.bytes == max);
}

static const char v2_mounts[] =
    "23 1 0:21 / /proc rw,nosuid - proc proc rw\n"
    "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void
test_v2(void)
{
	struct cgroup cgroup;
	uint64_t bytes;
	const struct cgroup_level *level;

	begin_tree("v2");
	put("/proc/self/cgroup", "0::/system.slice/web.service\n");
	put("/proc/self/mountinfo", v2_mounts);
	put("/proc/meminfo",
	    "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nInactive(file): 524288 kB\n");
	put("/sys/fs/cgroup/system.slice/web.service/memory.max", "max\n");
	put("/sys/fs/cgroup/system.slice/web.service/memory.high", "536870912\n");
	put("/sys/fs/cgroup/system.slice/web.service/memory.current", "104857600\n");
	put("/sys/fs/cgroup/system.slice/web.service/memory.stat",
	    "anon 1\ninactive_file 20971520\nactive_file 5\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
	put("/sys/fs/cgroup/system.slice/memory.high", "max\n");
	put("/sys/fs/cgroup/system.slice/memory.current", "1048576000\n");
	put("/sys/fs/cgroup/system.slice/memory.stat", "inactive_file 0\n");

	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.version == 2, "version 2");
	ok(cgroup.count == 3, "all levels up to the mount");
	ok(has_level(&cgroup, 0, "/sys/fs/cgroup/system.slice/web.service", 0),
	    "\"max\" is no limit");
	ok(cgroup.levels[0].high.set && cgroup.levels[0].high.bytes == 512 * M, "memory.high");
	ok(cgroup.levels[0].usage == 100 * M, "memory.current");
	ok(cgroup.levels[0].inactive_file == 20 * M, "inactive_file");
	ok(has_level(&cgroup, 1, "/sys/fs/cgroup/system.slice", 1024 * M),
	    "memory.max of the parent");
	ok(!cgroup.levels[1].high.set, "no memory.high there");
	ok(has_level(&cgroup, 2, "/sys/fs/cgroup", 0), "the root has no files, hence no limit");
	ok(cgroup.levels[2].usage == CGROUP_UNKNOWN, "nor a known usage");
	level = cgroup_tightest(&cgroup, &bytes);
	ok(level == &cgroup.levels[0] && bytes == 512 * M,
	    "tightest: the lowest limit of both kinds");
	level = cgroup_least_room(&cgroup, &bytes);
	ok(level == &cgroup.levels[1] && bytes == 24 * M,
	    "least room: where usage is next to the limit");
	cgroup_free(&cgroup);
}

static void
test_budget(void)
{
	struct num_share share = BUDGET_NO_SHARE;
	struct budget budget;
	uint64_t bytes;
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	char words[BUDGET_WORDS], zones[128];

	ok(budget_read(tree, &budget) == 0, "a budget in version 2");
	ok(budget.whole == 512 * M && budget.whole_group, "the whole is the lowest limit");
	ok(budget.room == 0, "24 MiB below a limit of 1 GiB are less than the reserve");
	is(budget.room_group, "/sys/fs/cgroup/system.slice", "whose it is");
	is(budget_words(budget.room_group, budget.room_limit, words),
	    "of the limit of memory cgroup /sys/fs/cgroup/system.slice, 1.0G", "in words");
	ok(budget_allow(&budget, &share, &bytes) == 0 && bytes == 0, "without a share, the room");
	share.percent = 25;
	ok(budget_allow(&budget, &share, &bytes) == 0 && bytes == 128 * M,
	    "a share is of the whole");
	share = (struct num_share){ .percent = -1, .bytes = 3 * M };
	ok(budget_allow(&budget, &share, &bytes) == 0 && bytes == 3 * M, "bytes are bytes");
	budget_free(&budget);

	begin_tree("free");
	put("/proc/meminfo",
	    "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nInactive(file): 524288 kB\n");
	ok(budget_read(tree, &budget) == 0, "a budget without cgroups");
	ok(budget.whole == 4096 * M && !budget.whole_group, "the whole is RAM");
	ok(budget.room == (1024 + 512 - 128) * M && !budget.room_group,
	    "room: free and idle, less 1/32 of RAM");
	budget_free(&budget);
	snprintf(zones, sizeof zones, "  pages free 5\n        high     %lu\n",
	    (32UL << 20) / page);
	put("/proc/zoneinfo", zones);
	ok(budget_read(tree, &budget) == 0 && budget.room == (1024 + 512 - 128) * M,
	    "which is more than the kernel keeps free, and 1/64");
	budget_free(&budget);
	snprintf(zones, sizeof zones, "  pages free 5\n        high     %lu\n",
	    (512UL << 20) / page);
	put("/proc/zoneinfo", zones);
	ok(budget_read(tree, &budget) == 0 && budget.room == (1024 + 512 - 512 - 64) * M,
	    "unless it was told to keep more");
	budget_free(&budget);
	put("/proc/zoneinfo", "        high     99999999999\n");
	ok(budget_read(tree, &budget) == 0 && budget.room == 0, "or all of it");
	budget_free(&budget);

	begin_tree("none");
	ok(budget_read(tree, &budget) == 0 && budget.whole == BUDGET_UNKNOWN &&
		budget.room == BUDGET_UNKNOWN,
	    "without /proc all is unknown");
	share.percent = 25;
	errno = 0;
	ok(budget_allow(&budget, &share, &bytes) == -1 && errno == ENODATA,
	    "and a share of it too");
	budget_free(&budget);
}

static const char v1_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void
test_v1(void)
{
	struct cgroup cgroup;
	uint64_t bytes;

	begin_tree("v1");
	put("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/other\n");
	put("/proc/self/mountinfo", v1_mounts);
	put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/a/b/memory.stat",
	    "inactive_file 1\nhierarchical_memory_limit 67108864\ntotal_inactive_file 524288\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n");
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 1048576\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");

	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.version == 1,
	    "version 1, beside a version 2 without the controller");
	ok(cgroup.count == 3, "all levels");
	ok(has_level(&cgroup, 0, "/sys/fs/cgroup/memory/a/b", 0), "the huge number is no limit");
	ok(cgroup.levels[0].inactive_file == M / 2, "total_inactive_file");
	ok(has_level(&cgroup, 1, "/sys/fs/cgroup/memory/a", 64 * M), "limit_in_bytes");
	ok(has_level(&cgroup, 2, "/sys/fs/cgroup/memory", 0), "the root");
	ok(cgroup_tightest(&cgroup, &bytes) == &cgroup.levels[1] && bytes == 64 * M, "tightest");
	ok(cgroup_least_room(&cgroup, &bytes) == &cgroup.levels[1] && bytes == 64 * M,
	    "idle cache makes room");
	cgroup_free(&cgroup);

	put("/sys/fs/cgroup/memory/a/memory.use_hierarchy", "0\n");
	put("/sys/fs/cgroup/memory/a/b/memory.stat",
	    "hierarchical_memory_limit 9223372036854771712\n");
	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.count == 1,
	    "a parent without hierarchy does not count");
	ok(cgroup_tightest(&cgroup, &bytes) == NULL, "then nothing limits");
	ok(cgroup_least_room(&cgroup, &bytes) == NULL, "nor is there a room");
	cgroup_free(&cgroup);
}

static void
test_container(void)
{
	struct cgroup cgroup;
	uint64_t bytes;

	begin_tree("container");
	put("/proc/self/cgroup", "4:memory:/docker/0123/app\n");
	put("/proc/self/mountinfo",
	    "35 31 0:32 /docker/0123 /sys/fs/cgroup/me\\040mory ro master:1 - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/me mory/app/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/me mory/app/memory.stat", "hierarchical_memory_limit 33554432\n");
	put("/sys/fs/cgroup/me mory/memory.limit_in_bytes", "67108864\n");
	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.count == 2,
	    "the mount's root is not the hierarchy's");
	ok(has_level(&cgroup, 1, "/sys/fs/cgroup/me mory", 64 * M), "and its point has a blank");
	ok(cgroup_tightest(&cgroup, &bytes) == &cgroup.levels[0] && bytes == 32 * M,
	    "the limit of an ancestor that is not mounted");
	cgroup_free(&cgroup);

	put("/proc/self/cgroup", "4:memory:/docker/01234\n");
	errno = 0;
	ok(cgroup_read(tree, &cgroup) == -1 && errno == ENOENT,
	    "a sibling with a longer name is not ours");
	put("/proc/self/cgroup", "4:memory:");
	ok(cgroup_read(tree, &cgroup) == -1 && errno == ENOENT, "an empty name");
	put("/proc/self/cgroup", "4:memory:/../x\n");
	put("/proc/self/mountinfo",
	    "35 31 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	ok(cgroup_read(tree, &cgroup) == -1 && errno == ENOENT,
	    "a cgroup outside of our namespace");

	begin_tree("namespace");
	put("/proc/self/cgroup", "0::/\n");
	put("/proc/self/mountinfo", "35 31 0:32 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/memory.max", "1048576\n");
	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.count == 1 &&
		has_level(&cgroup, 0, "/sys/fs/cgroup", M),
	    "a mount from outside of it shows an ancestor");
	cgroup_free(&cgroup);
}

static void
test_unknown(void)
{
	struct num_share share = { .percent = 25 };
	struct cgroup cgroup;
	struct budget budget;
	uint64_t bytes;

	begin_tree("unknown");
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", v2_mounts);
	put("/proc/meminfo",
	    "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nInactive(file): 0 kB\n"
	    "Mlocked: 2048 kB\n");
	ok(budget_read(tree, &budget) == 0 && budget.room == 896 * M && budget.level_count == 1 &&
		budget.levels[0].locked == 2 * M,
	    "no files, no limits");
	budget_free(&budget);
	put("/sys/fs/cgroup/a/memory.max", "536870912\n");
	ok(cgroup_read(tree, &cgroup) == 0 && cgroup_limits_known(&cgroup) &&
		!cgroup_room_known(&cgroup),
	    "a limit, and a usage that cannot be read");
	cgroup_free(&cgroup);
	ok(budget_read(tree, &budget) == 0 && budget.whole == 512 * M &&
		budget.room == BUDGET_UNKNOWN,
	    "then the room is unknown");
	budget_free(&budget);
	put("/sys/fs/cgroup/a/memory.current", "1048576\n");
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file 0\nunevictable 4096\n");
	ok(budget_read(tree, &budget) == 0 && budget.room == (512 - 1 - 32) * M &&
		budget.level_count == 2 && budget.levels[1].locked == 4096,
	    "with the usage it is known");
	budget_free(&budget);
	put("/sys/fs/cgroup/a/memory.high/x", ""); /* a folder cannot be read */
	ok(cgroup_read(tree, &cgroup) == 0 && cgroup.levels[0].high.unknown &&
		!cgroup_limits_known(&cgroup),
	    "a limit that cannot be read is not none");
	cgroup_free(&cgroup);
	ok(budget_read(tree, &budget) == 0 && budget.room == BUDGET_UNKNOWN &&
		budget_allow(&budget, &share, &bytes) == -1,
	    "then neither room nor share is known");
	budget_free(&budget);
}

/* What may be pinned: of each level its share, less what is locked there by others. */
static void
test_pinnable(void)
{
	struct num_share quarter = { .percent = 25 }, bytes = { .percent = -1, .bytes = 1024 * M };
	const struct budget_level *level;
	struct budget budget;
	uint64_t allowed;

	begin_tree("pinnable");
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", v2_mounts);
	put("/proc/meminfo",
	    "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nMemAvailable: 2097152 kB\n"
	    "Inactive(file): 0 kB\nMlocked: 3145728 kB\n");
	put("/sys/fs/cgroup/a/memory.max", "8589934592\n"); /* 8 GiB */
	put("/sys/fs/cgroup/a/memory.current", "1073741824\n");
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file 0\nactive_file 0\nunevictable 0\n");
	ok(budget_read(tree, &budget) == 0 && budget.level_count == 2, "RAM and a cgroup");
	level = budget_pinnable(&budget, &quarter, 0, &allowed);
	ok(level == &budget.levels[0] && allowed == 1024 * M,
	    "what is locked elsewhere on the machine counts, too");
	level = budget_pinnable(&budget, &quarter, 2048 * M, &allowed);
	ok(level == &budget.levels[1] && allowed == 2048 * M, "ours does not");
	level = budget_pinnable(&budget, &bytes, 0, &allowed);
	ok(!level && allowed == 1024 * M, "bytes are bytes");
	bytes.bytes = 15000 * M;
	level = budget_pinnable(&budget, &bytes, 0, &allowed);
	ok(level == &budget.levels[1] && allowed == 8192 * M, "but no more than there are");
	put("/sys/fs/cgroup/a/memory.stat",
	    "inactive_file 0\nactive_file 0\nunevictable 7516192768\n"); /* 7 GiB */
	budget_free(&budget);
	ok(budget_read(tree, &budget) == 0, "much is locked in the cgroup");
	level = budget_pinnable(&budget, &bytes, 0, &allowed);
	ok(level == &budget.levels[1] && allowed == 1024 * M, "nor than are not locked");
	level = budget_pinnable(&budget, &quarter, 0, &allowed);
	ok(level == &budget.levels[1] && allowed == 0, "it may be more than the share");
	ok(budget.levels[0].spare == 1024 * M,
	    "what the valve keeps available, 1 GiB of 2, is not to be pinned");
	budget_free(&budget);
	put("/sys/fs/cgroup/a/memory.current", "8053063680\n"); /* 7.5 GiB */
	ok(budget_read(tree, &budget) == 0 && budget.levels[1].spare == 0,
	    "nor what it keeps in a cgroup");
	budget_free(&budget);
	put("/proc/self/mountinfo", "\n");
	ok(budget_read(tree, &budget) == 0 && budget.level_count == 1,
	    "a cgroup that is not mounted");
	is(budget.unseen, "/a", "is known to be there");
	budget_free(&budget);
	put("/proc/self/cgroup", "0::/\n");
	ok(budget_read(tree, &budget) == 0 && !budget.unseen, "the root has no limits");
	budget_free(&budget);
}

static void
test_rubbish(void)
{
	struct cgroup cgroup;

	begin_tree("rubbish");
	errno = 0;
	ok(cgroup_read(tree, &cgroup) == -1 && errno == ENOENT, "no /proc");
	put("/proc/self/cgroup", "\n:\n::\nmemory\n0:\n0::/a\n");
	put("/proc/self/mountinfo",
	    "\n1 2 3\n1 2 0:3 / /m rw\n1 2 0:3 / /m rw -\n1 2 0:3 / /m rw - cgroup2\n"
	    "1 2 0:3 / /m rw - cgroup2 x\n1 2 0:3 / /cg rw - cgroup2 x rw\n");
	put("/cg/a/memory.max", "rubbish\n");
	put("/cg/a/memory.high", "-5\n");
	put("/cg/a/memory.current", "12x\n");
	ok(cgroup_read(tree, &cgroup) == 0 && has_level(&cgroup, 0, "/cg/a", 0),
	    "lines of rubbish");
	ok(cgroup.levels[0].high.unknown && cgroup.levels[0].usage == CGROUP_UNKNOWN,
	    "what is no number is unknown");
	cgroup_free(&cgroup);
}

/* Any cgroup by its name. */
static void
test_locate(void)
{
	char *point, *below;

	begin_tree("locate");
	put("/proc/self/mountinfo",
	    "35 31 0:32 /docker/0123 /memory ro - cgroup cgroup rw,memory\n"
	    "36 31 0:33 / /unified ro - cgroup2 cgroup rw\n"
	    "37 31 0:33 /.. /outside ro - cgroup2 cgroup rw\n");
	ok(hierarchy_locate(tree, 1, "/docker/0123/a", &point, &below) == 0, "below a mount");
	is(point, "/memory", "its mount point");
	is(below, "/a", "the rest of its name");
	free(point);
	free(below);
	ok(hierarchy_locate(tree, 1, "/docker/1", &point, &below) == -1, "one not mounted");
	ok(hierarchy_locate(tree, 2, "/", &point, &below) == 0, "the root");
	is(point, "/unified", "not a mount that shows what is outside");
	is(below, "", "nothing to append");
	free(point);
	free(below);
	ok(hierarchy_locate(tree, 2, "/a/../b", &point, &below) == -1, "no way out");
	ok(hierarchy_locate(tree, 2, "a", &point, &below) == -1, "not without a slash");
}

int
main(void)
{
	begin_trees();
	test_v2();
	begin_tree("v2");
	test_budget();
	test_v1();
	test_container();
	test_unknown();
	test_pinnable();
	test_rubbish();
	test_locate();
	remove_trees();
	return tap_done();
}
