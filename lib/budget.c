/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "hierarchy.h"
#include "meminfo.h"
#include "valve.h"

/*
 * Kept free: the kernel starts to reclaim some way above nothing (its watermarks
 * are about 1 % of RAM, unless vm.min_free_kbytes or vm.watermark_scale_factor ask for
 * more), and what we read takes page tables and inodes besides.
 * A cgroup is charged in batches, and its other members go on running.
 */
#define RAM_RESERVE(total)   ((total) / 32)
#define RAM_BESIDES(total)   ((total) / 64)
#define GROUP_RESERVE(limit) ((limit) / 16)

static uint64_t
less(uint64_t bytes, uint64_t reserve)
{
	return bytes > reserve ? bytes - reserve : 0;
}

static int
read_reserve(const char *root, uint64_t total, uint64_t *reserve)
{
	char *path = NULL;
	uint64_t kept;

	if (asprintf(&path, "%s%s", root, MEMINFO_ZONES) < 0) {
		errno = ENOMEM;
		return -1;
	}
	kept = num_sum(meminfo_kept_free(path), RAM_BESIDES(total));
	free(path);
	*reserve = kept == NUM_UNKNOWN || kept < RAM_RESERVE(total) ? RAM_RESERVE(total) : kept;
	return 0;
}

/* GROUP is copied. */
static int
add_level(struct budget *budget, const char *group, uint64_t whole, uint64_t locked)
{
	struct budget_level *levels = realloc(budget->levels,
	    (budget->level_count + 1) * sizeof *levels);
	char *name = group ? strdup(group) : NULL;

	if (levels)
		budget->levels = levels;
	if (!levels || (group && !name)) {
		free(name);
		return -1;
	}
	levels[budget->level_count++] = (struct budget_level){ name, whole, locked };
	return 0;
}

static int
read_ram(const char *root, struct budget *budget)
{
	struct meminfo info;
	char *path = NULL;
	uint64_t idle, reserve;

	if (asprintf(&path, "%s%s", root, MEMINFO_PATH) < 0) {
		errno = ENOMEM;
		return -1;
	}
	meminfo_read(path, &info); /* where it fails, every field is unknown */
	free(path);
	if (info.total == MEMINFO_UNKNOWN)
		return 0;
	budget->whole = info.total;
	if (add_level(budget, NULL, info.total, info.mlocked) < 0)
		return -1;
	if (info.available != MEMINFO_UNKNOWN) {
		budget->spare = less(info.available, VALVE_KEEPS(info.total));
		budget->spare_limit = info.total;
	}
	if (info.free == MEMINFO_UNKNOWN)
		return 0;
	idle = info.inactive_file == MEMINFO_UNKNOWN ? 0 : info.inactive_file;
	if (read_reserve(root, info.total, &reserve) < 0)
		return -1;
	budget->room = less(info.free + idle, reserve);
	budget->room_limit = info.total;
	return 0;
}

static int
apply_limits(struct budget *budget, const struct cgroup *cgroup)
{
	uint64_t bytes;
	const struct cgroup_level *level;

	for (size_t i = 0; i < cgroup->count; i++) {
		level = &cgroup->levels[i];
		if ((level->max.set || level->high.set) &&
		    add_level(budget, level->path, cgroup_limit_of(level), level->unevictable) < 0)
			return -1;
	}
	if (!cgroup_limits_known(cgroup)) {
		budget->whole = BUDGET_UNKNOWN;
		return 0;
	}
	level = cgroup_tightest(cgroup, &bytes);
	if (!level || bytes >= budget->whole)
		return 0;
	budget->whole = bytes;
	budget->whole_group = strdup(level->path);
	return budget->whole_group ? 0 : -1;
}

/* The lower one of what LEVEL leaves and what is in *BYTES, with whose it is. */
static int
lower(uint64_t *bytes, uint64_t *limit, char **group, uint64_t left,
    const struct cgroup_level *level)
{
	if (left >= *bytes)
		return 0;
	*bytes = left;
	*limit = cgroup_limit_of(level);
	*group = strdup(level->path);
	return *group ? 0 : -1;
}

static int
apply_room(struct budget *budget, const struct cgroup *cgroup)
{
	uint64_t bytes, limit, used;
	const struct cgroup_level *level;

	if (!cgroup_room_known(cgroup)) {
		budget->room = budget->room_limit = BUDGET_UNKNOWN;
		budget->spare = budget->spare_limit = BUDGET_UNKNOWN;
		return 0;
	}
	level = cgroup_least_room(cgroup, &bytes);
	if (!level)
		return 0;
	limit = cgroup_limit_of(level);
	/* as the valve counts: half of the cache in use can go without harm */
	used = level->active_file == CGROUP_UNKNOWN ? 0 : level->active_file / 2;
	if (lower(&budget->spare, &budget->spare_limit, &budget->spare_group,
		less(bytes + used, VALVE_KEEPS(limit)), level) < 0)
		return -1;
	return lower(&budget->room, &budget->room_limit, &budget->room_group,
	    less(bytes, GROUP_RESERVE(limit)), level);
}

static int
apply_cgroups(const char *root, struct budget *budget)
{
	struct cgroup cgroup;
	int result;

	if (cgroup_read(root, &cgroup) < 0) {
		budget->unseen = errno == ENOMEM ? NULL : hierarchy_own(root);
		return errno == ENOMEM ? -1 : 0;
	}
	result = apply_limits(budget, &cgroup) < 0 ? -1 : apply_room(budget, &cgroup);
	cgroup_free(&cgroup);
	return result;
}

int
budget_read(const char *root, struct budget *budget)
{
	*budget = (struct budget){
		.whole = BUDGET_UNKNOWN,
		.room = BUDGET_UNKNOWN,
		.room_limit = BUDGET_UNKNOWN,
		.spare = BUDGET_UNKNOWN,
		.spare_limit = BUDGET_UNKNOWN,
	};
	if (read_ram(root, budget) == 0 && apply_cgroups(root, budget) == 0)
		return 0;
	budget_free(budget);
	errno = ENOMEM;
	return -1;
}

void
budget_free(struct budget *budget)
{
	for (size_t i = 0; i < budget->level_count; i++)
		free(budget->levels[i].group);
	free(budget->levels);
	free(budget->unseen);
	free(budget->whole_group);
	free(budget->room_group);
	free(budget->spare_group);
	*budget = (struct budget){ 0 };
}

uint64_t
budget_locked(const struct budget_level *level, uint64_t ours)
{
	return level->locked == BUDGET_UNKNOWN ? 0 : less(level->locked, ours);
}

const struct budget_level *
budget_pinnable(const struct budget *budget, const struct num_share *share, uint64_t ours,
    uint64_t *bytes)
{
	const struct budget_level *found = NULL;

	*bytes = share->percent < 0 ? share->bytes : UINT64_MAX;
	for (size_t i = 0; i < budget->level_count; i++) {
		const struct budget_level *level = &budget->levels[i];
		uint64_t part = share->percent < 0 ? level->whole
						   : num_share_of(share, level->whole);

		part = less(part, budget_locked(level, ours));
		if (part >= *bytes)
			continue;
		*bytes = part;
		found = level;
	}
	return found;
}

bool
budget_given(const struct num_share *share)
{
	return share->percent >= 0 || share->bytes != UINT64_MAX;
}

int
budget_allow(const struct budget *budget, const struct num_share *share, uint64_t *bytes)
{
	bool given = budget_given(share);

	if ((given ? share->percent >= 0 && budget->whole == BUDGET_UNKNOWN
		   : budget->room == BUDGET_UNKNOWN)) {
		errno = ENODATA;
		return -1;
	}
	*bytes = given ? num_share_of(share, budget->whole) : budget->room;
	return 0;
}

char *
budget_words(const char *group, uint64_t limit, char text[static BUDGET_WORDS])
{
	char size[NUM_HUMAN] = "unknown";

	if (limit != BUDGET_UNKNOWN)
		num_human(limit, size);
	if (group)
		snprintf(text, BUDGET_WORDS, "of the limit of memory cgroup %s, %s", group, size);
	else
		snprintf(text, BUDGET_WORDS, "of this machine's memory, %s", size);
	return text;
}
