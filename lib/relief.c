/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "relief.h"

#include "grip.h"
#include "lookout.h"
#include "num.h"
#include "refresh.h"
#include "residency.h"
#include "stop.h"

/* As measured, each page once; 0 where that is not known. */
static uint64_t
pinned_bytes(const struct keeper *keeper)
{
	uint64_t sum = 0;

	if (keeper->select->count_links)
		return 0;
	for (size_t i = 0; i < keeper->holds_count; i++)
		if (keeper->holds[i].pinned != HOLD_UNKNOWN)
			sum += keeper->holds[i].pinned;
	return sum;
}

/* Holds less of a file by up to BYTES; returns by how much. */
static uint64_t
let_go(struct keeper *keeper, uint32_t number, uint64_t bytes)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t page = residency_page_size(), held = file->held;
	uint64_t less = num_least((bytes + page - 1) / page * page, held);

	grip_shrink(keeper, number, held - less);
	return held - file->held;
}

static void
release(struct keeper *keeper, uint64_t bytes)
{
	size_t count = 0;
	const uint32_t *order = roster_order(&keeper->roster, &count);

	while (order && bytes > 0 && count-- > 0)
		if (keeper->roster.files[order[count]].held > 0)
			bytes -= num_least(let_go(keeper, order[count], bytes), bytes);
}

static void
set_halt(struct keeper *keeper)
{
	shares_halt(&keeper->shares, keeper->valve.tight || keeper->withheld);
}

void
relief_withhold(struct keeper *keeper)
{
	keeper->withheld = keeper->wanting = true;
	set_halt(keeper);
}

void
relief_tend(struct keeper *keeper, uint64_t now)
{
	uint64_t bytes;

	if (now < keeper->valve.next)
		return;
	bytes = valve_release(&keeper->valve, now, pinned_bytes(keeper));
	set_halt(keeper);
	if (bytes == 0)
		return;
	release(keeper, bytes);
	keeper->withheld = keeper->wanting = true;
	set_halt(keeper);
	ledger_tell(&keeper->ledger, valve_why(&keeper->valve), keeper->event, keeper->argument);
}

/* Whether a file is to be pinned, or looked at, now; sets when that is to be tried else. */
static bool
is_due(struct keeper *keeper, const struct roster_file *file, uint64_t now)
{
	if (file->dirty || (file->held >= file->length && !file->failed))
		return false;
	if (file->crowded && file->length - file->held <= keeper->allowed - keeper->taken)
		return true;
	if (!file->failed || now >= file->retry)
		return true;
	keeper->fill = num_least(keeper->fill, file->retry);
	return false;
}

/* Pins up to BYTES of what is due; whether anything was, and is not done. */
static bool
fill_some(struct keeper *keeper, uint64_t bytes, uint64_t end)
{
	size_t count = 0;
	const uint32_t *order = roster_order(&keeper->roster, &count);

	for (size_t i = 0; order && i < count; i++) {
		struct roster_file *file = &keeper->roster.files[order[i]];

		if (file->held < file->length || file->failed)
			keeper->wanting = true;
		if (!is_due(keeper, file, stop_now()))
			continue;
		if (bytes == 0 || stop_now() >= end || keeper->hung || stop_asked())
			return true;
		if (file->length == 0) /* it could not be opened */
			lookout_changed(keeper, file->folder, file->name);
		else
			bytes -= num_least(refresh_more(keeper, order[i], bytes), bytes);
		keeper_attend(keeper);
		if (shares_halted(&keeper->shares))
			return false;
	}
	return false;
}

bool
relief_fill(struct keeper *keeper, uint64_t end)
{
	uint64_t bytes = REFRESH_STEP, now = stop_now();
	bool waited = keeper->withheld, left;

	keeper->fill = num_least(keeper->valve.next, now + LOOKOUT_EVERY);
	if (keeper->valve.tight)
		return false;
	if (keeper->withheld) {
		bytes = valve_repin(&keeper->valve, now);
		if (bytes == 0)
			return false;
		shares_halt(&keeper->shares, false);
	}
	keeper->withheld = keeper->wanting = false;
	keeper->fill = UINT64_MAX;
	left = fill_some(keeper, bytes, end);
	keeper->wanting |= left;
	keeper->withheld |= waited && left;
	set_halt(keeper);
	if (shares_halted(&keeper->shares))
		keeper->fill = num_least(keeper->fill, keeper->valve.next);
	return left;
}
