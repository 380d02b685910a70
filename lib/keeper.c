/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <errno.h>
#include <stdlib.h>

#include "each.h"
#include "holes.h"
#include "preload.h"
#include "residency.h"

#define WORKERS 8 /* more than processors: they wait for the disk */

/* What a worker leaves. */
struct outcome {
	bool worked, over, shared; /* over: more than allowed by now; shared: a hard link's */
	enum pin_failure failure;
};

int
keeper_begin(struct keeper *keeper, const char *list)
{
	pthread_mutex_init(&keeper->lock, NULL);
	keeper->holds_count = keeper->count + (list != NULL);
	keeper->holds = calloc(keeper->holds_count, sizeof *keeper->holds);
	if (!keeper->holds)
		return -1;
	for (size_t i = 0; i < keeper->holds_count; i++) {
		keeper->holds[i] = (struct hold){
			.name = i < keeper->count ? keeper->operands[i] : list,
			.pinned = HOLD_UNKNOWN,
			.lost = HOLD_UNKNOWN,
			.released = HOLD_UNKNOWN,
			.repinned = HOLD_UNKNOWN,
			.limit = HOLD_UNKNOWN,
		};
	}
	return 0;
}

static uint64_t
whole_pages(const struct each_file *file)
{
	return residency_pages(file->offset, file->length) * residency_page_size();
}

static int
each_pass(struct keeper *keeper, struct each *each)
{
	each->select = keeper->select;
	each->argument = keeper;
	return each_run(each, keeper->operands, keeper->count);
}

/* In a worker. */
static void
survey_work(struct each_file *file, void *argument)
{
	bool *holes = file->result;

	(void)argument;
	*holes = holes_sum(file->fd, file->offset, file->length) > 0;
}

static void
survey_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	struct hold *hold = &keeper->holds[file->operand];
	const bool *holes = file->result;

	if (file->error) {
		keeper->partial = true;
		hold->failed++;
		keeper->complain(file->path, each_error(file));
		return;
	}
	hold->files++;
	hold->asked = hold_sum(hold->asked, whole_pages(file));
	if (!*holes)
		return;
	keeper->partial = true;
	hold->failed++;
	keeper->complain(file->path, "not pinned: it has holes, which tmpfs would fill for good");
}

int
keeper_survey(struct keeper *keeper)
{
	struct each each = {
		.result_size = sizeof(bool),
		.workers = WORKERS,
		.work = survey_work,
		.report = survey_report,
	};

	if (each_pass(keeper, &each) < 0)
		return -1;
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->asked = hold_sum(keeper->asked, keeper->holds[i].asked);
	return 0;
}

/* In a worker: into the result, bytes of whole pages that are not in memory. */
static void
missing_work(struct each_file *file, void *argument)
{
	uint64_t *missing = file->result;
	struct residency seen;

	(void)argument;
	residency_query(file->fd, &file->status, file->offset, file->length, &seen);
	*missing = whole_pages(file);
	if (seen.method != RESIDENCY_UNKNOWN && seen.resident <= seen.pages)
		*missing = (seen.pages - seen.resident) * residency_page_size();
}

static void
missing_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	const uint64_t *missing = file->result;

	if (!file->error)
		keeper->missing = hold_sum(keeper->missing, *missing);
}

int
keeper_missing(struct keeper *keeper, uint64_t *bytes)
{
	struct each each = {
		.result_size = sizeof(uint64_t),
		.workers = WORKERS,
		.work = missing_work,
		.report = missing_report,
	};

	keeper->missing = 0;
	if (each_pass(keeper, &each) < 0)
		return -1;
	*bytes = keeper->missing;
	return 0;
}

/* In a worker, one at a time. */
static void
pin_one(struct keeper *keeper, struct each_file *file)
{
	struct outcome *outcome = file->result;
	const struct stat *status = &file->status;
	const struct select *select = keeper->select;
	uint64_t bytes = whole_pages(file);

	outcome->worked = true;
	if (!select->count_links && (status->st_nlink > 1 || select->follow))
		outcome->shared = links_add(&keeper->seen, status->st_dev, status->st_ino) == 0;
	if (outcome->shared)
		return;
	/* files may have grown since they were looked at */
	outcome->over = bytes > keeper->allowed - keeper->taken;
	if (outcome->over)
		return;
	outcome->failure = pins_add(&keeper->pins, file->fd, status, file->offset, file->length,
	    file->operand);
	if (outcome->failure == PIN_DONE)
		keeper->taken += bytes;
	else if (outcome->failure == PIN_ERROR)
		file->error = errno;
}

/* In a worker. */
static void
pin_work(struct each_file *file, void *argument)
{
	static const struct preload_hooks hooks;
	struct keeper *keeper = argument;
	struct outcome *outcome = file->result;
	struct preload loaded;

	if (holes_sum(file->fd, file->offset, file->length) > 0)
		return;
	preload_range(file->fd, &file->status, file->offset, file->length, &hooks, &loaded);
	if (loaded.error) {
		/* mlock would read it again, and again */
		*outcome = (struct outcome){ .worked = true, .failure = PIN_ERROR };
		file->error = loaded.error;
		return;
	}
	pthread_mutex_lock(&keeper->lock);
	pin_one(keeper, file);
	pthread_mutex_unlock(&keeper->lock);
}

/* Why a file is not pinned; NULL where it is. */
static const char *
why_not(const struct each_file *file)
{
	const struct outcome *outcome = file->result;

	if (outcome->over)
		return "not pinned: files have grown meanwhile, and more is not allowed";
	switch (outcome->failure) {
	case PIN_DONE:
		return NULL;
	case PIN_MAPS:
		return "not pinned, nor are others: too many files for one process, raise "
		       "vm.max_map_count (sysctl)";
	case PIN_SPACE:
		return "not pinned: more than the address space that one process may have, raise "
		       "that limit (ulimit -v, or LimitAS= of a systemd unit)";
	case PIN_SHRANK:
		return "not pinned: it shrank meanwhile";
	case PIN_STOPPED:
		return "not pinned: stopped before";
	case PIN_ERROR:
		break;
	}
	return each_error(file);
}

/* The owner is the first in order, whichever name of a file came first. */
static void
set_owner(struct keeper *keeper, const struct each_file *file)
{
	struct pin *pin;

	pthread_mutex_lock(&keeper->lock);
	pin = pins_find(&keeper->pins, file->status.st_dev, file->status.st_ino);
	if (pin)
		pin->owner = file->operand;
	pthread_mutex_unlock(&keeper->lock);
}

static void
pin_report(const struct each_file *file, void *argument)
{
	struct keeper *keeper = argument;
	const struct outcome *outcome = file->result;
	const char *why;

	if (!outcome->worked) { /* the survey said why */
		keeper->partial = true;
		return;
	}
	if (outcome->shared)
		set_owner(keeper, file);
	why = why_not(file);
	if (!why)
		return;
	keeper->partial = true;
	keeper->holds[file->operand].failed++;
	if (outcome->failure != PIN_MAPS || !keeper->maps_told)
		keeper->complain(file->path, why);
	keeper->maps_told |= outcome->failure == PIN_MAPS;
}

static void
measure(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->holds[i].pinned = 0;
	for (size_t i = 0; i < keeper->pins.count; i++) {
		const struct pin *pin = &keeper->pins.list[i];
		uint64_t bytes = pin_measure(pin), *pinned = &keeper->holds[pin->owner].pinned;

		*pinned = hold_sum(*pinned, bytes == PIN_UNKNOWN ? HOLD_UNKNOWN : bytes);
	}
}

int
keeper_pin(struct keeper *keeper)
{
	struct each each = {
		.result_size = sizeof(struct outcome),
		.workers = WORKERS,
		.work = pin_work,
		.report = pin_report,
	};

	if (each_pass(keeper, &each) < 0)
		return -1;
	measure(keeper);
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		hold->released = 0;
		hold->state = "pinned";
		/* where it cannot be measured, mlock's word counts */
		if (hold->failed || (hold->pinned != HOLD_UNKNOWN && hold->pinned != hold->asked)) {
			hold->state = "partial";
			keeper->partial = true;
		}
	}
	return 0;
}

bool
keeper_holds(const struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->holds_count; i++)
		if (keeper->holds[i].pinned > 0)
			return true;
	return false;
}

uint64_t
keeper_tend(struct keeper *keeper)
{
	(void)keeper;
	return UINT64_MAX;
}

int
keeper_fd(const struct keeper *keeper)
{
	(void)keeper;
	return -1;
}

void
keeper_release(struct keeper *keeper)
{
	if (keeper->released)
		return;
	keeper->released = true;
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->holds[i].lost = keeper->holds[i].pinned;
	measure(keeper);
	pins_release(&keeper->pins);
	links_free(&keeper->seen);
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];
		uint64_t before = hold->lost, now = hold->pinned;

		hold->lost = HOLD_UNKNOWN;
		if (before != HOLD_UNKNOWN && now != HOLD_UNKNOWN)
			hold->lost = before > now ? before - now : 0;
		hold->released = now;
		hold->pinned = 0;
		hold->state = "released";
	}
}

void
keeper_end(struct keeper *keeper)
{
	free(keeper->holds);
	keeper->holds = NULL;
	keeper->holds_count = 0;
}
