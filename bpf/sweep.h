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
	note_self();
	if (!key)
		return 0;
	task = *key;
	reader = listed_reader(task, false);
	if (!reader)
		return 0;
	recover_returned(reader, (void *)task, false);
	note_readings(reader);
	return 0;
}

#else

/* The number is read before the owner: where that is another by now, or gone, the number is
 * no longer the same either. */
static long
look_at_seat(__u64 index, void *nothing)
{
	struct seat *seat = &seats[index & (SEATS - 1)];
	__u64 number = *(volatile __u64 *)&seat->request.number;
	__u64 owner = *(volatile __u64 *)&seat->owner;
	const struct task_struct *task = AS(struct task_struct, owner);

	/* a call whose first batches were silent may be a new one that nothing has shown yet */
	if (owner &&
	    (seat_look(seat, task, number) || reads_now(task, seat->request.cache.mapping)))
		note_reading(&seat->request.cache);
	seat_tell(seat);
	return 0;
}

/* Run before the look at tasks in the tracepoint tier. */
SEC("syscall")
int
look_at_seats(void *context)
{
	struct task_struct *task = current_task();

	note_self();
	state.registers = address_of((void *)bpf_task_pt_regs((void *)task)) - (__u64)task->stack;
	bpf_loop(SEATS, look_at_seat, NULL, 0);
	return 0;
}

SEC("iter/task")
int
look(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct reader *reader;

	note_self();
	if (!task || !(reader = reader_of(task, false)))
		return 0;
	recover_returned(reader, task, false);
	if (reader->seat.owner) {
		if (seat_look(&reader->seat, task, reader->seat.request.number))
			note_reading(&reader->seat.request.cache);
		seat_tell(&reader->seat);
	}
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
