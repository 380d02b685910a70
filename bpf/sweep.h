/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SWEEP_H
#define HOTSET_SWEEP_H

/*
 * What hitratio runs now and then. A look at all tasks notes which files are just being
 * read. The sweep after it calls waste what was set aside in the others: a read that could
 * still take it would have been going on when it was evicted, which was before the look.
 */
#include "reading.h"
#ifndef BEFORE_FOLIOS
#include "traced.h"
#endif

/* The compiler must not load again what was compared with NULL. */
#define loaded_once(variable) asm volatile("" : "+r"(variable))

static inline void
note_reading(const struct cache *cache)
{
	state.being_read[cache->hint & (HINTS - 1)] = state.looks;
}

static inline void
note_readings(const struct reader *reader)
{
	for (int i = 0; i < 2; i++)
		if (reader->readings[i].cache.mapping)
			note_reading(&reader->readings[i].cache);
}

#ifdef BEFORE_FOLIOS

SEC("iter/bpf_map_elem")
int
look(struct bpf_iter__bpf_map_elem *context)
{
	const __u64 *key = context->key;
	struct reader *reader;
	__u64 task;

	loaded_once(key);
	state.self = (__u64)&state;
	if (!key)
		return 0;
	task = *key;
	reader = bpf_map_lookup_elem(&readers, &task);
	if (!reader)
		return 0;
	recover_returned(reader, (void *)task);
	note_readings(reader);
	return 0;
}

#else

SEC("iter/task")
int
look(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct reader *reader;

	state.self = (__u64)&state;
	if (!task || !(reader = reader_of(task, false)))
		return 0;
	/* a task that has read a file lately may be about to do so again */
	if (reader->request.held)
		note_reading(&reader->request.cache);
	recover_returned(reader, task);
	look_at_request(reader, task);
	note_readings(reader);
	return 0;
}

#endif

static inline void
sweep_group(const struct ledger_key *shown, const struct ledger_entry *entry)
{
	struct ledger_key key = *shown;
	struct cache cache = cache_at(key.mapping);
	__u64 pages;

	if (entry->evicted && state.being_read[cache.hint & (HINTS - 1)] != state.looks) {
		pages = group_forget(&key, state.settled);
		count(WASTE, pages, false);
		pending_add(&cache, -pages);
	}
	if (state.make_room)
		group_delete_empty(&key);
}

/* Some sandboxes refuse the iterators over maps, and kernels before 5.13 the loop. */
#ifdef BEFORE_FOLIOS

SEC("iter/bpf_map_elem")
int
sweep(struct bpf_iter__bpf_map_elem *context)
{
	const struct ledger_key *key = context->key;
	const struct ledger_entry *entry = context->value;

	loaded_once(key);
	loaded_once(entry);
	if (key && entry)
		sweep_group(key, entry);
	return 0;
}

#else

static long
sweep_one(void *map, struct ledger_key *key, struct ledger_entry *entry, void *data)
{
	sweep_group(key, entry);
	return 0;
}

SEC("syscall")
int
sweep(void *context)
{
	bpf_for_each_map_elem(&ledger, sweep_one, NULL, 0);
	return 0;
}

#endif

#endif
