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
	budget->levels[budget->level_count++] = (struct budget_level){
		.whole = info.total,
		.locked = info.mlocked,
		.spare = info.available == MEMINFO_UNKNOWN
		    ? BUDGET_UNKNOWN
		    : less(info.available, VALVE_KEEPS(info.total)),
		.cache = UINT64_MAX, /* all cache is the machine's */
	};
	if (info.free == MEMINFO_UNKNOWN)
		return 0;
	idle = info.inactive_file == MEMINFO_UNKNOWN ? 0 : info.inactive_file;
	if (read_reserve(root, info.total, &reserve) < 0)
		return -1;
	budget->room = less(info.free + idle, reserve);
	budget->room_limit = info.total;
	return 0;
}

static struct budget_level
look_at(const struct cgroup_level *level)
{
	uint64_t limit = cgroup_limit_of(level);
	/* as the valve counts: half of the cache in use can go without harm */
	uint64_t used = level->active_file == CGROUP_UNKNOWN ? 0 : level->active_file / 2;
	uint64_t idle = level->inactive_file == CGROUP_UNKNOWN ? 0 : level->inactive_file;
	struct budget_level result = {
		.group = level->path,
		.whole = limit,
		.locked = level->unevictable,
		.spare = BUDGET_UNKNOWN,
		.cache = used + idle,
	};

	if (level->usage != CGROUP_UNKNOWN)
		result.spare = less(cgroup_room_of(level) + used, VALVE_KEEPS(limit));
	return result;
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
			budget->levels[budget->level_count++] = look_at(level);
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

static void
apply_room(struct budget *budget)
{
	const struct cgroup_level *level;
	uint64_t bytes;

	if (!cgroup_room_known(&budget->cgroup)) {
		budget->room = budget->room_limit = BUDGET_UNKNOWN;
		return;
	}
	level = cgroup_least_room(&budget->cgroup, &bytes);
	if (!level)
		return;
	bytes = less(bytes, GROUP_RESERVE(cgroup_limit_of(level)));
	if (bytes < budget->room) {
		budget->room = bytes;
		budget->room_limit = cgroup_limit_of(level);
		budget->room_group = level->path;
	}
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
