/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_READING_H
#define HOTSET_READING_H

/*
 * Calls of read and splice, as the full tier sees them begin and end. Events come once
 * from each set of programs (see full.h), or from one only, or from none. A call whose end
 * nobody saw is recovered from what the task has been given by the time that it reads
 * again, ends, or hitratio looks; that of a worker of io_uring, from its request (5.16).
 */
#include "reader.h"

/* What TASK has been given by now. */
static inline struct given
given_to(struct task_struct *task)
{
	struct given given = { 0 };

	if (!settings.recovers)
		return given;
	/* the calls first: an end that has been seen is noted before they grow */
	given.calls = FOLLOW_TASK(task, ioac.syscr);
	given.bytes = FOLLOW_TASK(task, ioac.rchar);
	return given;
}

/* Takes READING for the one who recovers it, if it still is of MAPPING. */
#ifdef BEFORE_FOLIOS
static inline bool
claim_reading(struct reading *reading, __u64 mapping)
{
	struct ledger_key key = { (__u64)reading->position, ~0ULL };
	bool claimed;

	if (!group_lock(key.mapping, key.group))
		return false;
	claimed = *(volatile __u64 *)&reading->cache.mapping == mapping;
	if (claimed)
		reading->cache.mapping = 0;
	group_unlock(&key);
	return claimed;
}
#else
static inline bool
claim_reading(struct reading *reading, __u64 mapping)
{
	return __sync_val_compare_and_swap(&reading->cache.mapping, mapping, 0) == mapping;
}
#endif

/* Whether the kernel keeps the figures for what TASK reads: not for io_uring and for its own
 * threads. */
static inline bool
has_figures(struct task_struct *task)
{
	return !FOLLOW_TASK(task, io_uring) &&
	    !(FOLLOW_TASK(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

/* Counts READING, whose end at END nobody has seen; who calls has claimed it. */
static inline void
count_recovered(const struct reading *reading, __u64 end, bool target)
{
	count(STALLS, reading->stalls, target);
	if (end <= reading->position)
		return;
	end = size_pages(end);
	count_accesses(&reading->cache, reading->first, end < reading->end ? end : reading->end,
	    reading->began, target);
}

/* Counts what READING, of a TASK that has been given NOW, came to; unless another does so at
 * this moment. */
static inline void
recover_reading(struct reading *reading, const struct given *now, struct task_struct *task)
{
	struct reading copy = *reading;
	__u64 end = copy.call_start + (now->bytes - copy.given.bytes);
	bool target;

	/* it may have gone on since the figures were taken */
	if ((__s64)(now->calls - copy.given.calls) <= 0)
		return;
	if (!copy.cache.mapping || !claim_reading(reading, copy.cache.mapping))
		return;
	if (!state.counting)
		return;
	target = is_target(FOLLOW_TASK(task, tgid));
	if (!has_figures(task) || now->calls - copy.given.calls != 1) {
		count(UNSEEN, 1, target);
		return;
	}
	count_recovered(&copy, end, target);
}

/* What of TASK's calls has returned unseen: where it EXITS, all, and of those that are not
 * among its figures nobody knows. */
static inline void
recover_returned(struct reader *reader, struct task_struct *task, bool exits)
{
	struct given given = given_to(task);

	if (!settings.recovers)
		return;
	for (int i = 0; i < 2; i++) {
		struct reading *reading = &reader->readings[i];
		struct given now = given;

		if (!*(volatile __u64 *)&reading->cache.mapping)
			continue;
		if (exits && reading->given.calls == now.calls)
			now.calls += 2;
		recover_reading(reading, &now, task);
	}
}

/* What the current task, a worker of io_uring, read for the request that it is done with has
 * ended at END, if that was not seen. */
static inline void
recover_worked(struct reader *reader, __u64 end)
{
	for (int i = 0; i < 2; i++) {
		struct reading copy = reader->readings[i];

		if (copy.cache.mapping && claim_reading(&reader->readings[i], copy.cache.mapping) &&
		    state.counting)
			count_recovered(&copy, end, is_current_target());
	}
}

static inline struct reading *
reading_of(struct reader *reader, __u64 mapping)
{
	for (int i = 0; i < 2; i++)
		if (reader->readings[i].cache.mapping == mapping)
			return &reader->readings[i];
	return NULL;
}

/* A place for a call that begins. One that is there belongs to a call around this one, or
 * its end was not seen. */
static inline struct reading *
reading_place(struct reader *reader, __u64 mapping, __u64 position, const struct given *now)
{
	struct reading *reading = reading_of(reader, mapping);

	if (!reading) {
		reading = &reader->readings[0];
		if (reading->cache.mapping && reading->given.calls == now->calls)
			reading = &reader->readings[1];
	}
	if (reading->cache.mapping && settings.recovers) {
		struct given then = *now;

		/* the next piece of the same splice begins where this one ended; of other
		 * calls that are not among the figures nobody knows */
		if (then.calls == reading->given.calls) {
			bool follows = position > reading->position &&
			    position <= reading->end << PAGE_SHIFT;

			then.calls += follows ? 1 : 2;
			then.bytes = reading->given.bytes + position - reading->call_start;
		}
		recover_reading(reading, &then, current_task());
	}
	return reading;
}

/* A call begins that asks for LENGTH bytes at POSITION. */
static inline int
begin_reading(const struct cache *cache, __u64 position, __u64 length)
{
	struct reader *reader = reader_wanted();
	struct given now = given_to(current_task());
	struct reading *reading;

	if (!reader)
		return 0;
	reader->preloads = false;
	reading = reading_of(reader, cache->mapping);
	if (reading && reading->position == position && reading->given.calls == now.calls &&
	    settings.twice)
		return 0; /* the other set has seen it */
	reading = reading_place(reader, cache->mapping, position, &now);
	reading->began = *(volatile __u64 *)&state.evictions;
	reading->first = position >> PAGE_SHIFT;
	reading->end = size_pages(position + length);
	reading->stalls = 0;
	/* the pieces of a sendfile are one call */
	if (reader->ended.mapping != cache->mapping || reader->ended.given.calls != now.calls)
		reader->call_start = position;
	reading->call_start = reader->call_start;
	reading->position = position;
	reading->given = now;
	reading->cache.hint = cache->hint;
	*(volatile __u64 *)&reading->cache.mapping = cache->mapping;
	return 0;
}

/* The end at END of a call for MAPPING, by what the task was given NOW: whether the other
 * set has seen it. */
static inline bool
was_ended(const struct reader *reader, __u64 mapping, __u64 end, const struct given *now)
{
	const struct ended *ended = &reader->ended;

	return settings.twice && ended->mapping == mapping && ended->end == end &&
	    ended->given.calls == now->calls && ended->given.bytes == now->bytes;
}

/* The call ends that gave BYTES up to END; none or fewer: nothing. */
static inline int
end_reading(const struct cache *cache, __u64 end, __s64 bytes)
{
	struct reader *reader = reader_of_current(false);
	struct reading *reading;
	__u64 began = NO_BEGINNING;
	struct given now;

	if (!reader) {
		/* without memory for it its beginning has complained, but 5.16 to 6.1 may
		 * fail to find it at times */
		if (bytes > 0 && state.counting && !settings.recovers)
			count(UNSEEN, 1, is_current_target());
		return 0;
	}
	now = given_to(current_task());
	reading = reading_of(reader, cache->mapping);
	if (!reading && was_ended(reader, cache->mapping, end, &now))
		return 0;
	if (reading && state.counting) /* also where io_uring goes on with it later */
		count(STALLS, reading->stalls, is_current_target());
	if (bytes > 0 && state.counting) {
		bool target = is_current_target();

		if (reading)
			began = reading->began;
		count_accesses(cache, (end - bytes) >> PAGE_SHIFT, size_pages(end), began, target);
	}
	reader->ended.mapping = cache->mapping;
	reader->ended.end = end;
	reader->ended.given = now;
	if (reading) /* last: what it took must be gone */
		*(volatile __u64 *)&reading->cache.mapping = 0;
	return 0;
}

/* The task itself has brought in FIRST up to END of MAPPING. */
static inline void
note_stall(struct reader *reader, __u64 mapping, __u64 first, __u64 end)
{
	struct reading *reading = reading_of(reader, mapping);

	if (!reading)
		return;
	if (first < reading->first)
		first = reading->first;
	if (end > reading->end)
		end = reading->end;
	if (first < end)
		reading->stalls += end - first;
}

#endif
