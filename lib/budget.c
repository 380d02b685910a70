/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void
add_level(struct budget *budget, const char *group, uint64_t whole, uint64_t locked)
{
	budget->levels[budget->level_count++] = (struct budget_level){ group, whole, locked };
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
	add_level(budget, NULL, info.total, info.mlocked);
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

static void
apply_limits(struct budget *budget)
{
	const struct cgroup *cgroup = &budget->cgroup;
	const struct cgroup_level *level;
	uint64_t bytes;

	for (size_t i = 0; i < cgroup->count; i++) {
		level = &cgroup->levels[i];
		if (level->max.set || level->high.set)
			add_level(budget, level->path, cgroup_limit_of(level), level->unevictable);
	}
	if (!cgroup_limits_known(cgroup)) {
		budget->whole = BUDGET_UNKNOWN;
		return;
	}
	level = cgroup_tightest(cgroup, &bytes);
	if (!level || bytes >= budget->whole)
		return;
	budget->whole = bytes;
	budget->whole_group = level->path;
}

/* The lower one of what LEVEL leaves and what is in *BYTES, with whose it is. */
static void
lower(uint64_t *bytes, uint64_t *limit, const char **group, uint64_t left,
    const struct cgroup_level *level)
{
	if (left >= *bytes)
		return;
	*bytes = left;
	*limit = cgroup_limit_of(level);
	*group = level->path;
}

static void
apply_room(struct budget *budget)
{
	const struct cgroup *cgroup = &budget->cgroup;
	const struct cgroup_level *level;
	uint64_t bytes, limit, used;

	if (!cgroup_room_known(cgroup)) {
		budget->room = budget->room_limit = BUDGET_UNKNOWN;
		budget->spare = budget->spare_limit = BUDGET_UNKNOWN;
		return;
	}
	level = cgroup_least_room(cgroup, &bytes);
	if (!level)
		return;
	limit = cgroup_limit_of(level);
	/* as the valve counts: half of the cache in use can go without harm */
	used = level->active_file == CGROUP_UNKNOWN ? 0 : level->active_file / 2;
	lower(&budget->spare, &budget->spare_limit, &budget->spare_group,
	    less(bytes + used, VALVE_KEEPS(limit)), level);
	lower(&budget->room, &budget->room_limit, &budget->room_group,
	    less(bytes, GROUP_RESERVE(limit)), level);
}

/* -1 with ENOMEM. */
static int
look(const char *root, struct budget *budget)
{
	if (cgroup_read(root, &budget->cgroup) < 0) {
		if (errno == ENOMEM)
			return -1;
		budget->unseen = hierarchy_own(root);
	}
	/* RAM is one more */
	budget->levels = calloc(budget->cgroup.count + 1, sizeof *budget->levels);
	if (!budget->levels || read_ram(root, budget) < 0)
		return -1;
	if (budget->cgroup.count) {
		apply_limits(budget);
		apply_room(budget);
	}
	return 0;
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
	if (look(root, budget) == 0)
		return 0;
	budget_free(budget);
	errno = ENOMEM;
	return -1;
}

void
budget_free(struct budget *budget)
{
	cgroup_free(&budget->cgroup);
	free(budget->levels);
	free(budget->unseen);
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
