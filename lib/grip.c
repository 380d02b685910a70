/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "grip.h"

#include "each.h"
#include "stop.h"

/* Until what has failed is tried again, in ns: twice as long each time. */
#define PAUSE_FIRST 1000000000ULL
#define PAUSE_MOST  64000000000ULL

const char *
grip_why(enum pin_failure failure, int error)
{
	switch (failure) {
	case PIN_DONE:
		return NULL;
	case PIN_MAPS:
		return "not pinned, nor are others: too many files for the processes that could be "
		       "started, raise vm.max_map_count (sysctl)";
	case PIN_SPACE:
		return "not pinned: more than the address space that one process may have, raise "
		       "that limit (ulimit -v, or LimitAS= of a systemd unit)";
	case PIN_LIMIT:
		return "not pinned: more than may be locked (RLIMIT_MEMLOCK), raise that limit "
		       "(ulimit -l, or LimitMEMLOCK= of a systemd unit)";
	case PIN_SHRANK:
		return "not pinned: it shrank meanwhile";
	case PIN_STOPPED:
		return "not pinned: stopped before";
	case PIN_WORKER:
		return "not pinned: the process that was to hold it has died";
	case PIN_ERROR:
		break;
	}
	return each_error(&(struct each_file){ .error = error, .path = "" });
}

void
grip_fail(struct keeper *keeper, uint32_t number, const char *path, const char *why)
{
	struct roster_file *file = &keeper->roster.files[number];
	bool maps = why == grip_why(PIN_MAPS, 0);

	ledger_fail(&keeper->ledger, &keeper->roster, number, true);
	if (!file->said && !(maps && keeper->maps_told))
		keeper->complain(path, why);
	file->said = true;
	keeper->maps_told |= maps;
	file->pause = !file->pause         ? PAUSE_FIRST
	    : file->pause < PAUSE_MOST / 2 ? 2 * file->pause
					   : PAUSE_MOST;
	file->retry = stop_now() + file->pause;
	keeper->wanting = true;
	if (keeper->fill > file->retry)
		keeper->fill = file->retry;
}

void
grip_attach(struct keeper *keeper, uint32_t number, struct share_place place, uint64_t held)
{
	struct roster_file *file = &keeper->roster.files[number];

	if (place.share == UINT32_MAX)
		return;
	if (shares_tag(&keeper->shares, place, number) < 0) {
		shares_drop(&keeper->shares, place);
		keeper_give(keeper, held);
		keeper->wanting = true;
		return;
	}
	file->place = place;
	file->held = held;
	ledger_set(&keeper->ledger, &keeper->roster, number, held, LEDGER_LOST);
}

void
grip_detach(struct keeper *keeper, uint32_t number)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t seen, first;

	if (file->place.share != UINT32_MAX) {
		seen = shares_look(&keeper->shares, file->place, &first);
		if (seen < file->pinned)
			ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_LOST);
		shares_drop(&keeper->shares, file->place);
		keeper_give(keeper, file->held);
	}
	file->place = SHARE_NOWHERE;
	file->held = 0;
	ledger_set(&keeper->ledger, &keeper->roster, number, 0, LEDGER_RELEASED);
}

void
grip_shrink(struct keeper *keeper, uint32_t number, uint64_t length)
{
	struct roster_file *file = &keeper->roster.files[number];
	uint64_t now = length, seen;

	if (length >= file->held)
		return;
	if (length == 0 || shares_resize(&keeper->shares, file->place, &now, &seen) != PIN_DONE) {
		grip_detach(keeper, number);
		return;
	}
	keeper_give(keeper, file->held - now);
	file->held = now;
	if (seen < file->pinned)
		ledger_set(&keeper->ledger, &keeper->roster, number, seen, LEDGER_RELEASED);
}
