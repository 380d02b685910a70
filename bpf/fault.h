/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FAULT_H
#define HOTSET_FAULT_H

/* The fault that a task is in, and fills, of which it may wait for one. */
#include "reader.h"

/* Counts the fault that the task is in, once; its storage, NULL where there is no room. */
static inline struct reader *
count_fault(void)
{
	struct reader *reader = reader_wanted();
	__u64 serial = fault_serial(current_task());

	if (!reader)
		return NULL;
	if (reader->fault_serial != serial) {
		reader->fault_serial = serial;
		reader->fault_mapping = 0;
		reader->fault_missed = reader->fault_guessed = false;
		count(FAULTS, 1, is_current_target());
	}
	return reader;
}

/* What the fault's own page counts as: one that was taken for it before was mapped. */
static inline enum counter
fault_counter(const struct reader *reader)
{
	return reader->fault_guessed ? MAPPED : FAULT_MISSES;
}

/* Whether FIRST up to END has the page of CACHE that the task's fault waits for. */
static inline bool
is_faulting(const struct reader *reader, const struct cache *cache, __u64 first, __u64 end)
{
	return reader && reader->fault_mapping == cache->mapping && reader->fault_index >= first &&
	    reader->fault_index < end && reader->fault_serial == fault_serial(current_task());
}

/* Counts the fill of FIRST up to END; false where that was done already. The page that
 * a fault waits for is accessed by it, and never pending. */
static inline bool
record_fill(struct reader *reader, const struct cache *cache, __u64 first, __u64 end)
{
	struct filled before, behind = { 0 };
	bool target = is_current_target();
	__u64 missed = 0, lost;

	if (is_faulting(reader, cache, first, end)) {
		before = ledger_fill(cache, first, reader->fault_index);
		behind = ledger_fill(cache, reader->fault_index + 1, end);
		missed = !reader->fault_missed;
		reader->fault_missed = true;
		count(fault_counter(reader), missed, target);
	} else
		before = ledger_fill(cache, first, end);
	lost = settings.second ? 0 : before.lost + behind.lost;
	count(LOST, lost, target);
	count(FILLS, before.fresh + behind.fresh + missed + lost, target);
	return before.fresh + behind.fresh + missed + lost != 0;
}

#endif
