/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lookout.h"
#include "num.h"
#include "pinning.h"
#include "refresh.h"
#include "relief.h"
#include "stop.h"

#define BREATH 50000000ULL /* ns between two, at least */

/* A tend takes no longer than that, but for one file. */
#define TURN 50000000ULL /* ns */

int
keeper_begin(struct keeper *keeper, const char *list)
{
	/* a capability of the program's file makes our own /proc/self somebody else's: what is
	 * pinned could not be measured */
	prctl(PR_SET_DUMPABLE, 1);
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

static bool
breathe(struct keeper *keeper)
{
	uint64_t now = stop_now();

	if (!keeper->breathe || now - keeper->breathed < BREATH)
		return !keeper->enough;
	keeper->breathed = now;
	keeper->enough = !keeper->breathe(keeper->argument);
	return !keeper->enough;
}

/* While a worker is waited for. */
static void
breathe_only(void *argument)
{
	breathe(argument);
}

bool
keeper_attend(void *argument)
{
	struct keeper *keeper = argument;

	if (keeper->valve.meminfo)
		relief_tend(keeper, stop_now());
	return breathe(keeper) && !stop_asked();
}

void
keeper_give(struct keeper *keeper, uint64_t bytes)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->taken -= bytes;
	pthread_mutex_unlock(&keeper->lock);
	keeper->fill = 0; /* what was too much may not be now */
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
	if (seen < file->held)
		lookout_changed(keeper, file->folder, file->name);
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
	keeper->partial = false;
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		hold->state = "pinned";
		if (hold->failed || hold->pinned != hold->asked)
			hold->state = "partial";
		keeper->partial |= hold->failed > 0;
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
		hold->files = hold->failed = hold->asked = 0;
		hold->pinned = hold->lost = hold->released = hold->repinned = 0;
	}
	relief_tend(keeper, stop_now());
	result = pinning_all(keeper);
	for (size_t i = 0; stop_asked() && i < keeper->holds_count; i++) {
		keeper->holds[i].files = before[i].files;
		keeper->holds[i].failed += before[i].failed;
		keeper->holds[i].asked = before[i].asked;
	}
	free(before);
	return result;
}

/* What has failed so far only for want of processes, or in a mapping of its own. */
static void
pin_rest(struct keeper *keeper)
{
	while (keeper->wanting && keeper_attend(keeper) && relief_fill(keeper, stop_now() + TURN))
		continue;
}

static void
tell_withheld(struct keeper *keeper)
{
	char *text;

	if (!keeper->withheld ||
	    asprintf(&text, "not all is pinned yet: memory is tight: %s",
		valve_why(&keeper->valve)) < 0)
		return;
	keeper->event(text, keeper->argument);
	free(text);
}

/* Before the first report mlock's word is checked. */
static void
measure_first(struct keeper *keeper)
{
	keeper->unmeasured = shares_measure(&keeper->shares, note_first, keeper) < 0;
	if (keeper->unmeasured)
		keeper->complain("/proc/self/pagemap",
		    "cannot be read: what is pinned, and what of it is lost, is not known");
	keeper->checked = lookout_after(stop_now(), 0);
}

int
keeper_pin(struct keeper *keeper)
{
	keeper->shares.news = keeper->news;
	keeper->shares.breathe = breathe_only;
	keeper->shares.argument = keeper;
	if (shares_begin(&keeper->shares, keeper->files) < 0 ||
	    valve_begin(&keeper->valve, "", keeper->quiet_time, stop_now()) < 0 ||
	    pin_all(keeper) < 0)
		return -1;
	if (!keeper->hung) {
		pin_rest(keeper);
		tell_withheld(keeper);
		measure_first(keeper);
	}
	set_states(keeper);
	for (size_t i = 0; i < keeper->holds_count; i++) {
		struct hold *hold = &keeper->holds[i];

		keeper->partial |= strcmp(hold->state, "partial") == 0;
		hold->unmeasured = keeper->unmeasured;
	}
	keeper->tending = !keeper->hung;
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
	uint64_t start = shares_spent(&keeper->shares);

	if (!keeper->unmeasured)
		shares_measure(&keeper->shares, note_change, keeper);
	keeper->checked = lookout_after(stop_now(), shares_spent(&keeper->shares) - start);
}

/* All that a worker held has gone. */
static uint64_t
lose_share(struct keeper *keeper, uint32_t share)
{
	uint64_t files = 0;

	for (uint32_t i = 0; i < keeper->roster.file_count; i++) {
		struct roster_file *file = &keeper->roster.files[i];

		if (!file->name || file->place.share != share)
			continue;
		files++;
		ledger_set(&keeper->ledger, &keeper->roster, i, 0, LEDGER_LOST);
		keeper_give(keeper, file->held);
		file->held = 0;
		file->place = SHARE_NOWHERE;
		keeper->wanting = true;
	}
	return files;
}

/* A worker that has died has let go of all it held. */
static void
reap(struct keeper *keeper)
{
	uint32_t share;
	bool killed;

	while ((share = shares_reap(&keeper->shares, &killed)) != UINT32_MAX) {
		/* what the kernel has killed it for is not pinned again at once */
		if (killed && valve_killed(&keeper->valve, stop_now()))
			relief_withhold(keeper);
		if (lose_share(keeper, share))
			keeper->event("a worker process has died, and let go of what it held",
			    keeper->argument);
	}
}

/* Whether some is left for the next time. */
static bool
refresh(struct keeper *keeper, uint64_t end)
{
	uint32_t folder;
	char *name;

	while (stop_now() < end && keeper_attend(keeper) && !keeper->hung) {
		name = queue_next(&keeper->queue, &keeper->roster, &folder);
		if (!name)
			return false;
		refresh_name(keeper, folder, name);
		free(name);
	}
	return !queue_is_empty(&keeper->queue);
}

static uint64_t
next_due(const struct keeper *keeper)
{
	uint64_t due = num_least(num_least(keeper->heard, keeper->looked),
	    num_least(keeper->checked, keeper->valve.next));

	return keeper->wanting ? num_least(due, keeper->fill) : due;
}

uint64_t
keeper_tend(struct keeper *keeper)
{
	uint64_t now = stop_now();
	bool left = false;

	if (!keeper->tending || keeper->released || keeper->hung)
		return UINT64_MAX;
	relief_tend(keeper, now);
	reap(keeper);
	lookout_tend(keeper, now);
	if (!keeper->hung && now >= keeper->checked)
		measure(keeper);
	if (!keeper->hung)
		left = refresh(keeper, stop_now() + TURN);
	if (!keeper->hung && keeper->wanting && stop_now() >= keeper->fill)
		left |= relief_fill(keeper, stop_now() + TURN);
	ledger_tell(&keeper->ledger, NULL, keeper->event, keeper->argument);
	set_states(keeper);
	return left || !queue_is_empty(&keeper->queue) ? now : next_due(keeper);
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
	/* else it ends with the process, which is about to */
	if (!keeper->hung) {
		if (keeper->tending && !keeper->unmeasured)
			shares_measure(&keeper->shares, note_change, keeper);
		shares_release(&keeper->shares);
		links_free(&keeper->seen);
	}
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
	if (keeper->hung)
		return;
	queue_free(&keeper->queue);
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
