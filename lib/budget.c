/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "meminfo.h"

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
	budget->locked = info.mlocked;
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
apply_limit(struct budget *budget, const struct cgroup *cgroup)
{
	uint64_t bytes;
	const struct cgroup_level *level;

	if (!cgroup_limits_known(cgroup)) {
		budget->whole = BUDGET_UNKNOWN;
		return 0;
	}
	level = cgroup_tightest(cgroup, &bytes);
	if (!level || bytes >= budget->whole)
		return 0;
	budget->whole = bytes;
	budget->locked = level->unevictable;
	budget->whole_group = strdup(level->path);
	return budget->whole_group ? 0 : -1;
}

static int
apply_room(struct budget *budget, const struct cgroup *cgroup)
{
	uint64_t bytes;
	const struct cgroup_level *level;

	if (!cgroup_room_known(cgroup)) {
		budget->room = budget->room_limit = BUDGET_UNKNOWN;
		return 0;
	}
	level = cgroup_least_room(cgroup, &bytes);
	if (!level)
		return 0;
	bytes = less(bytes, GROUP_RESERVE(cgroup_limit_of(level)));
	if (bytes < budget->room) {
		budget->room = bytes;
		budget->room_limit = cgroup_limit_of(level);
		budget->room_group = strdup(level->path);
		if (!budget->room_group)
			return -1;
	}
	return 0;
}

int
budget_read(const char *root, struct budget *budget)
{
	struct cgroup cgroup;
	int result;

	*budget = (struct budget){
		.whole = BUDGET_UNKNOWN,
		.room = BUDGET_UNKNOWN,
		.room_limit = BUDGET_UNKNOWN,
		.locked = BUDGET_UNKNOWN,
	};
	if (read_ram(root, budget) < 0)
		return -1;
	if (cgroup_read(root, &cgroup) < 0)
		return errno == ENOMEM ? -1 : 0;
	result = apply_limit(budget, &cgroup) < 0 ? -1 : apply_room(budget, &cgroup);
	cgroup_free(&cgroup);
	if (result < 0)
		budget_free(budget);
	return result;
}

void
budget_free(struct budget *budget)
{
	free(budget->whole_group);
	free(budget->room_group);
	budget->whole_group = budget->room_group = NULL;
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
