/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "valve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "meminfo.h"
#include "num.h"
#include "vmstat.h"

#define SOON  100000000ULL /* ns between looks */
#define LATER 250000000ULL /* where there is plenty */

/* That pinning again waits after it was wrong, or the quiet time where that is longer. */
#define SHORTEST 1000000000ULL
#define LONGEST  (3600 * 1000000000ULL)

#define PARTS 8 /* of what is pinned: one is given back when tasks wait, however much is free */

/* How much there is, and how much there is to be. */
struct level {
	uint64_t bytes, low; /* bytes: UINT64_MAX where nobody tells */
};

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Linux 5.18 to 6.6 leave the pages of large folios that are mapped page by page, as those of XFS
 * are, with the idle cache when they are locked: what is pinned and does not count as locked cannot
 * go, though it counts as available. No more of CACHE than there is.
 */
static struct level
of_machine(struct valve *valve, uint64_t pinned)
{
	struct meminfo info;

	valve->hidden = 0;
	if (meminfo_read(valve->meminfo, &info) < 0 || info.total == MEMINFO_UNKNOWN ||
	    info.available == MEMINFO_UNKNOWN)
		return (struct level){ UINT64_MAX, 0 };
	if (info.mlocked != MEMINFO_UNKNOWN)
		valve->hidden = less(pinned, info.mlocked);
	return (struct level){ less(info.available, valve->hidden), VALVE_KEEPS(info.total) };
}

/* Of a cgroup's cache, what counts as available: as in MemAvailable, half of what is in use can go
 * without harm. */
static uint64_t
cache_of(const struct cgroup_level *level)
{
	uint64_t cache = 0;

	if (level->inactive_file != CGROUP_UNKNOWN)
		cache += level->inactive_file;
	if (level->active_file != CGROUP_UNKNOWN)
		cache += level->active_file / 2;
	return cache;
}

/* Of that, what cannot go in truth: its pages may be charged elsewhere. */
static uint64_t
hidden_of(const struct valve *valve, const struct cgroup_level *level, uint64_t pinned)
{
	uint64_t hidden = valve->hidden;

	if (level->unevictable != CGROUP_UNKNOWN)
		hidden = num_least(hidden, less(pinned, level->unevictable));
	return num_least(hidden, cache_of(level));
}

/* Of the cgroup that is nearest to its limit. */
static struct level
of_group(const struct valve *valve, uint64_t pinned, char **path)
{
	struct level level = { UINT64_MAX, 0 };
	const struct cgroup_level *found;
	struct cgroup cgroup;

	*path = NULL;
	if (cgroup_read(valve->root, &cgroup) < 0)
		return level;
	found = cgroup_room_known(&cgroup) ? cgroup_least_room(&cgroup, &level.bytes) : NULL;
	if (found) {
		if (found->active_file != CGROUP_UNKNOWN)
			level.bytes += found->active_file / 2;
		level.bytes = less(level.bytes, hidden_of(valve, found, pinned));
		level.low = VALVE_KEEPS(cgroup_limit_of(found));
		*path = strdup(found->path);
	}
	cgroup_free(&cgroup);
	return level;
}

static uint64_t
shortage(struct level level)
{
	return level.bytes < level.low ? level.low - level.bytes : 0;
}

/* What is left beyond twice the least. */
static uint64_t
spare(struct level level)
{
	return level.bytes > 2 * level.low ? level.bytes - 2 * level.low : 0;
}

/* VMSTAT_UNKNOWN where the kernel does not tell. */
static uint64_t
count_kills(const char *root)
{
	struct vmstat vmstat;

	return vmstat_read(root, &vmstat) < 0 ? VMSTAT_UNKNOWN : vmstat.oom_kill;
}

int
valve_begin(struct valve *valve, const char *root, uint64_t quiet_time, uint64_t now)
{
	*valve = (struct valve){ .root = root,
		.quiet_time = quiet_time,
		.wait = quiet_time,
		.tight_at = now,
		.kills = count_kills(root) };
	if (asprintf(&valve->meminfo, "%s%s", root, MEMINFO_PATH) < 0) {
		valve->meminfo = NULL;
		errno = ENOMEM;
		return -1;
	}
	if (pressure_begin(&valve->pressure, root, now) == 0)
		return 0;
	free(valve->meminfo);
	valve->meminfo = NULL;
	return -1;
}

void
valve_free(struct valve *valve)
{
	if (!valve->meminfo)
		return;
	pressure_free(&valve->pressure);
	free(valve->meminfo);
	valve->meminfo = NULL;
}

/* It is tight: where that is soon after something was pinned again, the next time comes later. */
static void
note_tight(struct valve *valve, uint64_t now)
{
	uint64_t longest = valve->quiet_time < LONGEST ? LONGEST : valve->quiet_time;

	if (valve->again && (now - valve->tight_at) / 2 < num_sum(valve->wait, SHORTEST))
		valve->wait = valve->wait < SHORTEST ? SHORTEST
		    : valve->wait < longest / 2      ? 2 * valve->wait
						     : longest;
	else if (valve->again)
		valve->wait = valve->quiet_time;
	valve->again = false;
	valve->tight = true;
	valve->tight_at = now;
}

static void
say_short(struct valve *valve, struct level level, const char *group)
{
	char size[NUM_HUMAN], low[NUM_HUMAN];

	num_human(level.bytes, size);
	num_human(level.low, low);
	if (group)
		snprintf(valve->words, sizeof valve->words,
		    "%s available in memory cgroup %s, less than %s", size, group, low);
	else
		snprintf(valve->words, sizeof valve->words, "%s available, less than %s", size,
		    low);
}

/* What the lack of room asks for: twice of it, since it grows meanwhile. */
static uint64_t
release_for_room(struct valve *valve, uint64_t pinned)
{
	struct level machine = of_machine(valve, pinned), group;
	uint64_t lack = shortage(machine), group_lack;
	char *path;

	group = of_group(valve, pinned, &path);
	group_lack = shortage(group);
	if (lack || group_lack)
		say_short(valve, lack >= group_lack ? machine : group,
		    lack >= group_lack ? NULL : path);
	valve->next += machine.bytes / 4 > machine.low && group.bytes / 4 > group.low ? LATER
										      : SOON;
	free(path);
	return 2 * (lack > group_lack ? lack : group_lack);
}

uint64_t
valve_release(struct valve *valve, uint64_t now, uint64_t pinned)
{
	uint64_t bytes;

	if (now < valve->next)
		return 0;
	valve->next = now;
	valve->tight = false;
	valve->pinned = pinned;
	bytes = release_for_room(valve, pinned);
	if (pressure_tight(&valve->pressure, now) && bytes == 0) {
		pressure_words(&valve->pressure, valve->words);
		note_tight(valve, now);
		/* no more before it can be seen what that did */
		if (now - valve->stalled_at < PRESSURE_WINDOW)
			return 0;
		valve->stalled_at = now;
		bytes = pinned / PARTS;
	}
	if (bytes == 0)
		return 0;
	note_tight(valve, now);
	return bytes > VALVE_LEAST ? bytes : VALVE_LEAST;
}

bool
valve_killed(struct valve *valve, uint64_t now)
{
	uint64_t before = valve->kills;
	bool lately = valve->tight || (*valve->words && now - valve->tight_at < valve->wait);

	valve->kills = count_kills(valve->root);
	if (!lately && (valve->kills == VMSTAT_UNKNOWN || valve->kills <= before))
		return false;
	snprintf(valve->words, sizeof valve->words, "a process of ours was killed for it");
	note_tight(valve, now);
	return true;
}

uint64_t
valve_repin(struct valve *valve, uint64_t now)
{
	uint64_t machine, group, bytes = VALVE_STEP;
	char *path;

	if (valve->tight || now - valve->tight_at < valve->wait)
		return 0;
	machine = spare(of_machine(valve, valve->pinned));
	group = spare(of_group(valve, valve->pinned, &path));
	free(path);
	if (machine < bytes)
		bytes = machine;
	if (group < bytes)
		bytes = group;
	valve->again |= bytes > 0;
	return bytes;
}

const char *
valve_why(const struct valve *valve)
{
	return valve->words;
}
