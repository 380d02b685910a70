/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pressure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "meminfo.h"
#include "num.h"

/*
 * Percent of the time in which a task, or all of them, waited for memory. To recycle idle cache
 * is such a wait as well, of kswapd's if of nobody else's, and does no harm. Measured: 3 and 3 %
 * where reading does nothing else (Linux 6.12), 15 and 7 % where a cgroup recycles its own at
 * 3 GB/s, which was holes, faster than a disk (6.18). Above that, tasks wait because others
 * took what they need.
 */
#define SOME 20.0
#define FULL 10.0

/*
 * Where more of the machine is free than the kernel ever keeps free (some percent, by its
 * watermarks), nobody waits for the machine: but for room below a cgroup's own limit, which
 * is no matter of ours.
 */
#define FREE(total) ((total) / 16)

/*
 * Half of what the budget leaves alone: as much is available, at least, where there is a budget
 * at all.
 */
#define AVAILABLE(total) ((total) / 64)

static char *
join(const char *a, const char *b)
{
	char *path;

	return asprintf(&path, "%s%s", a, b) < 0 ? NULL : path;
}

/* Takes over PATH; whether there is something to read. */
static bool
begin_stalls(struct pressure_stalls *stalls, char *path, uint64_t now)
{
	stalls->path = path;
	stalls->time = now;
	if (path && psi_read(path, &stalls->before) == 0)
		return true;
	free(path);
	stalls->path = NULL;
	return false;
}

static int
begin_machine(struct pressure *pressure, const char *root, uint64_t now)
{
	char *path = join(root, PSI_PATH);

	pressure->meminfo = join(root, MEMINFO_PATH);
	if (!path || !pressure->meminfo) {
		free(path);
		return -1;
	}
	begin_stalls(&pressure->machine, path, now);
	return 0;
}

static int
begin_group(struct pressure *pressure, const char *root, uint64_t now)
{
	struct cgroup cgroup;
	char *path = NULL;
	int result = 0;

	if (cgroup_read(root, &cgroup) < 0)
		return errno == ENOMEM ? -1 : 0;
	/* the root, which counts no usage, stands for the machine */
	if (cgroup.version == 2 && cgroup.levels[0].usage != CGROUP_UNKNOWN) {
		pressure->group = strdup(cgroup.levels[0].path);
		if (!pressure->group ||
		    asprintf(&path, "%s%s/" PSI_GROUP_FILE, root, pressure->group) < 0)
			result = -1;
		else if (!begin_stalls(&pressure->members, path, now)) {
			free(pressure->group);
			pressure->group = NULL;
		}
	}
	cgroup_free(&cgroup);
	return result;
}

int
pressure_begin(struct pressure *pressure, const char *root, uint64_t now)
{
	*pressure = (struct pressure){ .next = now + PRESSURE_WINDOW };
	if (begin_machine(pressure, root, now) == 0 && begin_group(pressure, root, now) == 0)
		return 0;
	pressure_free(pressure);
	errno = ENOMEM;
	return -1;
}

void
pressure_free(struct pressure *pressure)
{
	free(pressure->machine.path);
	free(pressure->members.path);
	free(pressure->meminfo);
	free(pressure->group);
	*pressure = (struct pressure){ 0 };
}

bool
pressure_known(const struct pressure *pressure)
{
	struct meminfo info;

	return pressure->machine.path || pressure->members.path ||
	    (meminfo_read(pressure->meminfo, &info) == 0 && info.total != MEMINFO_UNKNOWN &&
		info.available != MEMINFO_UNKNOWN);
}

/* The share of TIME (ns) that went by between two totals (microseconds), in percent; 0 where
 * it cannot be told. */
static double
share(uint64_t before, uint64_t after, uint64_t time)
{
	if (before == PSI_UNKNOWN || after == PSI_UNKNOWN || after < before || time == 0)
		return 0;
	return 100.0 * 1000 * (double)(after - before) / (double)time;
}

/* Whether tasks waited too long since the last look. */
static bool
stalled(struct pressure *pressure, struct pressure_stalls *stalls, uint64_t now)
{
	double some, full;
	struct psi psi;

	if (!stalls->path || psi_read(stalls->path, &psi) < 0)
		return false;
	some = share(stalls->before.some, psi.some, now - stalls->time);
	full = share(stalls->before.full, psi.full, now - stalls->time);
	stalls->before = psi;
	stalls->time = now;
	if (some < SOME && full < FULL)
		return false;
	pressure->percent = some;
	return true;
}

/* Of what nobody tells, the worst is thought. */
static bool
little_free(const struct pressure *pressure)
{
	struct meminfo info;

	return meminfo_read(pressure->meminfo, &info) < 0 || info.total == MEMINFO_UNKNOWN ||
	    info.free == MEMINFO_UNKNOWN || info.free < FREE(info.total);
}

/* Of what nobody tells, nothing is thought: it would never change. */
static bool
little_available(struct pressure *pressure)
{
	struct meminfo info;

	if (meminfo_read(pressure->meminfo, &info) < 0 || info.total == MEMINFO_UNKNOWN ||
	    info.available == MEMINFO_UNKNOWN)
		return false;
	pressure->available = info.available;
	return info.available < AVAILABLE(info.total);
}

static enum pressure_why
look_at_machine(struct pressure *pressure, uint64_t now)
{
	if (pressure->machine.path)
		return stalled(pressure, &pressure->machine, now) && little_free(pressure)
		    ? PRESSURE_MACHINE
		    : PRESSURE_NONE;
	return little_available(pressure) ? PRESSURE_AVAILABLE : PRESSURE_NONE;
}

bool
pressure_tight(struct pressure *pressure, uint64_t now)
{
	if (now < pressure->next)
		return pressure->why != PRESSURE_NONE;
	pressure->next = now + PRESSURE_WINDOW;
	/* both, so that each has looked when the other one is over */
	pressure->why = look_at_machine(pressure, now);
	if (stalled(pressure, &pressure->members, now))
		pressure->why = PRESSURE_GROUP;
	return pressure->why != PRESSURE_NONE;
}

char *
pressure_words(const struct pressure *pressure, char text[static PRESSURE_WORDS])
{
	char size[NUM_HUMAN];

	if (pressure->why == PRESSURE_AVAILABLE)
		snprintf(text, PRESSURE_WORDS, "%s is available",
		    num_human(pressure->available, size));
	else if (pressure->why == PRESSURE_GROUP)
		snprintf(text, PRESSURE_WORDS,
		    "tasks in memory cgroup %s waited for it %.0f%% of the time", pressure->group,
		    pressure->percent);
	else
		snprintf(text, PRESSURE_WORDS, "tasks waited for it %.0f%% of the time",
		    pressure->percent);
	return text;
}
