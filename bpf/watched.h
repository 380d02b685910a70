/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WATCHED_H
#define HOTSET_WATCHED_H

/* What every tier sees in the same way. */
#include "reading.h"
#ifndef BEFORE_FOLIOS
#include "traced.h"
#endif

/* Evict or truncate. */
SEC("tp_btf")
int
BPF_PROG(evict, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	__u64 first = folio->index;
	struct cache cache;

	if (was_seen(EVENT_EVICT, first) || !state.counting || !regular_host(mapping))
		return 0;
	cache = cache_of(mapping);
	count(WASTE, ledger_evict(&cache, first, first + folio_pages(folio)), false);
	return 0;
}

SEC("tp_btf")
int
BPF_PROG(dirty, struct folio *folio, struct address_space *mapping)
{
	if (!was_seen(EVENT_DIRTY, folio->index) && state.counting && regular_host(mapping))
		count(DIRTIES, folio_pages(folio), is_current_target());
	return 0;
}

SEC("tp_btf")
int
BPF_PROG(task_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid;
	__u8 yes = 1;

	if (was_seen_of(EVENT_FORK, child))
		return 0;
	if (is_target(parent->tgid) && bpf_map_update_elem(&targets, &tgid, &yes, BPF_ANY) < 0)
		count(UNSEEN, 1, true);
	return 0;
}

/* What it read last counts. */
SEC("tp_btf")
int
BPF_PROG(task_exit, struct task_struct *task)
{
	struct reader *reader;

	if (was_seen_of(EVENT_EXIT, task))
		return 0;
	reader = reader_of_current(false);
	if (reader) {
		recover_insert();
		recover_returned(reader, task, true);
	}
#ifndef BEFORE_FOLIOS
	seat_leave(task, reader);
#endif
	forget_current();
	return 0;
}

/* The last of a process is gone: its number may go to a stranger. */
SEC("tp_btf")
int
BPF_PROG(task_free, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!was_seen_of(EVENT_FREE, task) && task->pid == task->tgid)
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

#endif
