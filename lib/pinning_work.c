/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pinning_run.h"

#include <sys/stat.h>

#include "bundle.h"
#include "holes.h"

/* Whether FILE shall be pinned here and now: what it takes is taken then. */
static bool
claim(struct keeper *keeper, const struct each_file *file, struct pinning_outcome *outcome)
{
	const struct stat *status = &file->status;
	const struct select *select = keeper->select;
	uint64_t bytes = pin_pages(-1, file->offset, file->length).length;

	outcome->halted = shares_halted(&keeper->shares);
	if (outcome->halted)
		return false;
	pthread_mutex_lock(&keeper->lock);
	if (!select->count_links)
		outcome->shared = links_add(&keeper->seen, status->st_dev, status->st_ino) == 0;
	/* files may have grown since they were looked at */
	outcome->over = !outcome->shared && bytes > keeper->allowed - keeper->taken;
	if (!outcome->shared && !outcome->over)
		keeper->taken += bytes;
	pthread_mutex_unlock(&keeper->lock);
	return !outcome->shared && !outcome->over;
}

static void
unclaim(struct keeper *keeper, uint64_t bytes)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->taken -= bytes;
	pthread_mutex_unlock(&keeper->lock);
}

/* In a worker: pins what has been loaded of COUNT files. */
static void
pin(struct keeper *keeper, struct each_file *const *files, size_t count)
{
	struct share_item items[SHARE_TOGETHER];
	struct each_file *claimed[SHARE_TOGETHER];
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct pinning_outcome *outcome = files[i]->result;

		outcome->worked = true;
		outcome->place = SHARE_NOWHERE;
		outcome->error = outcome->loaded.error;
		if (outcome->error) /* mlock would read it again, and again */
			outcome->failure = PIN_ERROR;
		else if (files[i]->length > 0 && claim(keeper, files[i], outcome)) {
			items[n].what = pin_pages(files[i]->fd, files[i]->offset, files[i]->length);
			items[n].locked = items[n].what.length;
			claimed[n++] = files[i];
		}
	}
	if (n)
		shares_add(&keeper->shares, items, n);
	for (size_t i = 0; i < n; i++) {
		struct pinning_outcome *outcome = claimed[i]->result;

		outcome->place = items[i].place;
		outcome->locked = items[i].locked;
		outcome->failure = items[i].failure;
		outcome->error = items[i].error;
		outcome->halted = items[i].failure == PIN_DONE &&
		    items[i].locked < items[i].what.length;
		unclaim(keeper, items[i].what.length - items[i].locked);
	}
}

/* While memory is tight, what is not pinned is not loaded either: it would be gone before. */
static bool
may_load(struct keeper *keeper, struct pinning_outcome *outcome)
{
	outcome->halted = shares_halted(&keeper->shares);
	outcome->worked |= outcome->halted;
	outcome->place = SHARE_NOWHERE;
	return !outcome->halted;
}

static const struct preload_hooks hooks;

/* In a worker. */
void
pinning_work(struct each_file *file, void *argument)
{
	struct pinning_pass *pass = argument;
	struct pinning_outcome *outcome = file->result;

	if (holes_any(file->fd, &file->status, file->offset, file->length))
		return;
	if (!may_load(pass->keeper, outcome))
		return;
	preload_range(file->fd, &file->status, file->offset, file->length, &hooks,
	    &outcome->loaded);
	pin(pass->keeper, &file, 1);
}

/* In a worker. */
bool
pinning_gathers(const struct each_file *file, void *argument)
{
	(void)argument;
	return file->length <= BUNDLE_SMALL &&
	    bundle_takes(file->fd, &file->status, file->offset, file->length) &&
	    !holes_any(file->fd, &file->status, file->offset, file->length);
}

_Static_assert(SHARE_TOGETHER >= EACH_TOGETHER, "what is loaded together is pinned together");

/* In a worker. What could not be read mlock would try to read for ever. */
void
pinning_work_together(struct each_file *const *files, size_t count, void *argument)
{
	struct pinning_pass *pass = argument;
	struct bundle_file bundle[EACH_TOGETHER];
	bool halted = false;

	for (size_t i = 0; i < count; i++)
		halted |= !may_load(pass->keeper, files[i]->result);
	if (halted) {
		for (size_t i = 0; i < count; i++) {
			struct pinning_outcome *outcome = files[i]->result;

			outcome->worked = outcome->halted = true;
		}
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct pinning_outcome *outcome = files[i]->result;

		bundle[i] = (struct bundle_file){ files[i]->fd, &files[i]->status,
			&outcome->loaded };
	}
	bundle_read(bundle, count);
	pin(pass->keeper, files, count);
}
