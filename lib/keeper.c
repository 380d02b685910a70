/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lookout.h"
#include "pinning.h"
#include "refresh.h"
#include "stop.h"

#define BREATH 50000000ULL /* ns between two, at least */

/* A tend takes no longer than that, but for one file. */
#define TURN 50000000ULL /* ns */

/* As for looks: with all else a second is enough, and it takes no more than a fiftieth. */
#define CHECK_EVERY 400000000ULL
#define CHECK_SHARE 50

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
	keeper->ledger.holds = keeper->holds;
	roster_begin(&keeper->roster);
	notice_begin(&keeper->notice);
	keeper->news = epoll_create1(EPOLL_CLOEXEC);
	if (keeper->news >= 0 && keeper->notice.fd >= 0)
		epoll_ctl(keeper->news, EPOLL_CTL_ADD, keeper->notice.fd,
		    &(struct epoll_event){ .events = EPOLLIN });
	return 0;
}

bool
keeper_breathe(struct keeper *keeper)
{
	uint64_t now = stop_now();

	if (stop_asked())
		return false;
	if (!keeper->breathe || now - keeper->breathed < BREATH)
		return !keeper->enough;
	keeper->breathed = now;
	keeper->enough = !keeper->breathe(keeper->argument);
	return !keeper->enough;
}

/* --- how it stands */

/* Before the first look mlock's word counts. */
static void
note_first(uint32_t number, uint64_t seen, void *argument)
{
	struct keeper *keeper = argument;
	struct roster_file *file = &keeper->roster.files[number];

	keeper->holds[file->owner].pinned += seen - file->pinned;
	file->pinned = seen;
}

static void
note_change(uint32_t number, uint64_t seen, void *argument)
{
	struct keeper *keeper = argument;
	struct roster_file *file = &keeper->roster.files[number];

	if (!file->name || file->held == 0)
		return;
	if (seen < file->pinned)
		lookout_changed(keeper, file->folder, file->name);
	ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
}

static void
set_states(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		hold->state = "pinned";
		if (hold->failed || hold->pinned != hold->asked)
			hold->state = "partial";
	}
}

/* --- pinning */

/* What the survey counted is counted anew, file by file. */
static int
pin_all(struct keeper *keeper)
{
	struct hold *before = calloc(keeper->holds_count, sizeof *before);
	int result;

	if (!before)
		return -1;
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		before[i] = *hold;
		hold->files = hold->asked = 0;
		hold->pinned = hold->lost = hold->released = hold->repinned = 0;
	}
	result = pinning_all(keeper);
	for (size_t i = 0; stop_asked() && i < keeper->holds_count; i++) {
		keeper->holds[i].files = before[i].files;
		keeper->holds[i].asked = before[i].asked;
	}
	free(before);
	return result;
}

int
keeper_pin(struct keeper *keeper)
{
	if (shares_begin(&keeper->shares, keeper->files, keeper->news) < 0 ||
	    valve_begin(&keeper->valve, "", keeper->quiet_time, stop_now()) < 0 ||
	    pin_all(keeper) < 0)
		return -1;
	keeper->unmeasured = shares_measure(&keeper->shares, note_first, keeper) < 0;
	set_states(keeper);
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		if (hold->state[0] == 'p' && hold->state[1] == 'a')
			keeper->partial = true;
		hold->unmeasured = keeper->unmeasured;
	}
	keeper->tending = true;
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

/* --- tending */

static void
measure(struct keeper *keeper)
{
	uint64_t start = lookout_spent(), took;

	if (!keeper->unmeasured)
		shares_measure(&keeper->shares, note_change, keeper);
	took = stop_now() - start;
	keeper->checked = start +
	    (took * CHECK_SHARE > CHECK_EVERY ? took * CHECK_SHARE : CHECK_EVERY);
}

/* A worker that has died has let go of all it held. */
static void
reap(struct keeper *keeper)
{
	uint32_t share;

	while ((share = shares_reap(&keeper->shares)) != UINT32_MAX) {
		uint64_t files = 0;

		for (uint32_t i = 0; i < keeper->roster.file_count; i++) {
			struct roster_file *file = &keeper->roster.files[i];

			if (!file->name || file->place.share != share)
				continue;
			files++;
			ledger_set(&keeper->ledger, &keeper->roster, i, 0, LEDGER_LOST);
			keeper->taken -= file->held;
			file->held = 0;
			file->place = SHARE_NOWHERE;
			lookout_changed(keeper, file->folder, file->name);
		}
		if (files)
			keeper->event("a worker process has died, and let go of what it held",
			    keeper->argument);
	}
}

static uint64_t
pinned_bytes(const struct keeper *keeper)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < keeper->holds_count; i++)
		sum += keeper->holds[i].pinned;
	return sum;
}

static void
work_valve(struct keeper *keeper, uint64_t now)
{
	uint64_t bytes;

	if (now < keeper->valve.next)
		return;
	bytes = valve_release(&keeper->valve, now, pinned_bytes(keeper));
	if (bytes) {
		refresh_release(keeper, bytes);
		ledger_tell(&keeper->ledger, valve_why(&keeper->valve), keeper->event,
		    keeper->argument);
	} else if (keeper->withheld && (bytes = valve_repin(&keeper->valve, now)) > 0) {
		keeper->withheld = refresh_repin(keeper, bytes);
	}
}

/* Whether some is left for the next time. */
static bool
refresh(struct keeper *keeper, uint64_t end)
{
	uint32_t folder;
	char *name;

	while (stop_now() < end && keeper_breathe(keeper)) {
		name = lookout_next(keeper, &folder);
		if (!name)
			return false;
		refresh_name(keeper, folder, name);
		free(name);
	}
	return true;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
keeper_tend(struct keeper *keeper)
{
	uint64_t now = stop_now();
	bool left;

	if (!keeper->tending || keeper->released)
		return UINT64_MAX;
	work_valve(keeper, now);
	reap(keeper);
	lookout_tend(keeper, now);
	/* what was lost is seen before it is pinned again */
	if (keeper->changed_next < keeper->changed_count || now >= keeper->checked)
		measure(keeper);
	if (keeper->changed_next < keeper->changed_count) {
		left = refresh(keeper, stop_now() + TURN);
		measure(keeper);
	} else
		left = false;
	ledger_tell(&keeper->ledger, NULL, keeper->event, keeper->argument);
	set_states(keeper);
	if (left)
		return now;
	return least(least(keeper->heard, keeper->looked),
	    least(keeper->checked, keeper->valve.next));
}

int
keeper_fd(const struct keeper *keeper)
{
	return keeper->news;
}

/* --- the end */

void
keeper_release(struct keeper *keeper)
{
	if (keeper->released)
		return;
	keeper->released = true;
	if (keeper->tending && !keeper->unmeasured)
		shares_measure(&keeper->shares, note_change, keeper);
	shares_release(&keeper->shares);
	links_free(&keeper->seen);
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		hold->released = hold_sum(hold->released, hold->pinned);
		hold->pinned = 0;
		hold->state = "released";
	}
}

void
keeper_end(struct keeper *keeper)
{
	uint32_t folder;
	char *name;

	while ((name = lookout_next(keeper, &folder)))
		free(name);
	free(keeper->changed);
	for (int i = 0; i < LEDGER_KINDS; i++)
		free(keeper->ledger.sums[i].path);
	roster_free(&keeper->roster);
	notice_end(&keeper->notice);
	valve_free(&keeper->valve);
	if (keeper->news >= 0)
		close(keeper->news);
	free(keeper->holds);
	keeper->holds = NULL;
	keeper->holds_count = 0;
}
