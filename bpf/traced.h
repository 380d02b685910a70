/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRACED_H
#define HOTSET_TRACED_H

/*
 * The tracepoint tier, for kernels that refuse programs at functions: what was read,
 * inserted and faulted is put together from tracepoints of 6.12 and later, which say less.
 */
#include "fault.h"

#define IOCB_DIRECT (1 << 17) /* 5.10 */

/* The task looked up a batch of pages of HOST from INDEX on, and wants those up to LAST; what
 * it looks up after that begins at NEXT or later. */
static __always_inline void
note_batch(struct task_struct *task, const struct address_space *mapping, const struct inode *host,
    const struct call *call, __u64 index, __u64 last, __u64 next)
{
	struct cache cache = cache_of(mapping);
	/* the range is not cut to the file's size, which may change meanwhile */
	__u64 end = last + 1, size = size_pages(host->i_size);
	struct seat *seat = seat_of(task);
	struct request *request;

	if (!seat)
		return;
	request = &seat->request;
	if (!is_same_request(request, task, call, &cache, index, last)) {
		seat_settle(seat, task);
		seat_ask(seat, task);
		request_begin(request, task, call, &cache, index, last);
	} else if (!is_held(request)) {
		/* hitratio looked, and counted up to its end: only what lies behind is new */
		request->start = request->end;
	}
	if (call->room && end > request->start + call->room)
		end = request->start + call->room;
	if (end > size)
		end = size;
	if (end > request->end)
		request->end = end;
	request->next = next;
	request->seen = state.evictions;
	if (!is_held(request)) /* last: a look may settle it at once */
		request_hold(request);
}

/*
 * The task is in CALL, a read, and comes to page END - 1, but the kernel will be silent about
 * that batch. Those before it may have been shown, or may be yet.
 */
static __always_inline void
note_silent(struct task_struct *task, const struct address_space *mapping, const struct inode *host,
    const struct call *call, __u64 end)
{
	struct cache cache = cache_of(mapping);
	__u64 index = call->position >> PAGE_SHIFT;
	struct seat *seat = seat_of(task);

	if (!seat)
		return;
	if (is_same_call(&seat->request, task, call, &cache)) {
		index = seat->request.next;
		seat->request.last = LAST_UNKNOWN;
	}
	note_batch(task, mapping, host, call, index, end - 1, index);
	seat->request.last = LAST_UNKNOWN;
}

/*
 * Page INDEX, just behind the end of a file, was brought in. squashfs does so with the whole of
 * its own blocks, and there such a page never comes to be up to date. A read that goes on to it
 * is silent: a call with a large buffer shows nothing of its last batch, and of a small file
 * nothing at all. The first of such calls brings in that page, and is noted here where it says how
 * much it wants; of those that follow nothing is to be seen.
 */
static __noinline int
note_behind(struct task_struct *task, struct address_space *mapping, struct inode *host,
    __u64 index)
{
	const struct pt_regs *regs = registers_of(task);
	struct call call = { .kind = CALL_READ, .positioned = true };
	long number;

	if (host->i_sb->s_magic != SQUASHFS_MAGIC)
		return 0;
	count(SILENT, 1, is_target(task->tgid));
	if (!plain_read(task, &call.position))
		return 0;
	number = call_number(task, regs);
	if ((number == NR_READ || number == NR_PREAD64) && call.position < index << PAGE_SHIFT &&
	    call.position + regs->dx > index << PAGE_SHIFT)
		note_silent(task, mapping, host, &call, index);
	return 0;
}

/* Page INDEX was brought in by a read for itself, without readahead (filemap_create_folio). */
static __noinline int
note_created(struct task_struct *task, struct address_space *mapping, struct inode *host,
    __u64 index)
{
	struct call call;
	__u64 position;

	call_other(task, mapping, &call);
	if (plain_read(task, &position)) {
		call.positioned = true;
		call.position = position;
	}
	if (call.kind == CALL_READ && call.positioned)
		note_silent(task, mapping, host, &call, index + 1);
	return 0;
}

/*
 * Insert. Pages that come in for a read, a fault or their readahead are fills.
 * Readahead holds PF_MEMALLOC_NOFS, writes do not (ext4, xfs, btrfs, overlay), or are in a
 * transaction then (ext4 with inline_data), in which no readahead is. Two kinds of fills come
 * without: a fault under MADV_RANDOM, and a read whose readahead found no memory, or did
 * nothing (ext4 with inline_data).
 */
static __always_inline bool
is_readahead(const struct task_struct *task)
{
	return task->flags & PF_MEMALLOC_NOFS && !task->journal_info;
}

SEC("tp_btf")
int
BPF_PROG(insert, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	struct inode *host = regular_host(mapping);
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	struct seat *seat;
	__u64 first, end, size;
	bool created; /* by a read */

	if (was_seen(EVENT_INSERT, folio->index) || !state.counting || !host)
		return 0;
	first = folio->index;
	end = first + folio_pages(folio);
	reader = reader_of(task, false);
	cache = cache_of(mapping);
	created = !is_readahead(task) && !is_faulting(reader, &cache, first, end);
	if (created && !is_reading(task, mapping))
		return 0;
	size = size_pages(host->i_size);
	if (first >= size) /* nothing that could be read */
		return first == size ? note_behind(task, mapping, host, first) : 0;
	if (is_preload(task))
		return 0;
	seat = seat_of(task);
	if (seat)
		request_fills(&seat->request, task);
	record_fill(reader, &cache, first, end);
	return created ? note_created(task, mapping, host, end - 1) : 0;
}

static __noinline int
note_other(struct task_struct *task, struct address_space *mapping, struct inode *host, __u64 index,
    __u64 last)
{
	struct call call;

	call_other(task, mapping, &call);
	if (call.kind != CALL_URING)
		note_batch(task, mapping, host, &call, index, last, index + 1);
	return 0;
}

/* Read, also by splice: one event for each batch of folios that was looked up. */
SEC("tp_btf")
int
BPF_PROG(read_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct inode *host = regular_host(mapping);
	struct call call = { .kind = CALL_READ, .positioned = true };
	struct task_struct *task;

	if (was_seen(EVENT_READ, index) || !state.counting || !host)
		return 0;
	task = current_task();
	if (!plain_read(task, &call.position))
		return note_other(task, mapping, host, index, last);
	note_batch(task, mapping, host, &call, index, last, index + 1);
	return 0;
}

/*
 * io_uring puts a request aside wherever it would wait, and goes on with it later,
 * among others: its batches cannot be told apart. Its completion says all.
 */
SEC("tp_btf")
int
BPF_PROG(uring_complete, void *ring, void *argument)
{
	struct task_struct *task = current_task();
	struct io_kiocb *request = argument;
	struct kiocb *iocb = argument; /* the read's own data lies at its start */
	struct address_space *mapping;
	struct inode *host;
	struct cache cache;
	__s64 result, end, start;

	if (was_seen(EVENT_URING, (__u64)argument) || !state.counting || !is_uring_read(request))
		return 0;
	result = BPF_CORE_READ(request, cqe.res);
	if (result <= 0 || BPF_CORE_READ(iocb, ki_flags) & IOCB_DIRECT)
		return 0;
	mapping = BPF_CORE_READ(iocb, ki_filp, f_mapping);
	host = find_host(true, mapping);
	if (!host)
		return 0;
	/* overlayfs reads from another file, in a worker: counted there */
	if (BPF_CORE_READ(host, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC)
		return 0;
	end = BPF_CORE_READ(iocb, ki_pos);
	start = end - result;
	if (start < 0)
		return 0;
	cache = cache_at((__u64)mapping);
	start >>= PAGE_SHIFT;
	end = size_pages(end);
	count_accesses(&cache, start, end, NO_BEGINNING, is_target(task->tgid));
	return 0;
}

/* What the task has read before the fault was accessed before it. */
static inline void
settle_returned(struct task_struct *task, struct reader *reader)
{
	struct seat *seat = seat_taken(task, reader);

	if (seat && seat->request.syscr != task->ioac.syscr)
		seat_settle(seat, task);
}

/* The task's storage, in which the fault that goes on has been counted; NULL where there
 * is no room for it. */
static inline struct reader *
faulting_reader(struct task_struct *task)
{
	struct reader *reader = count_fault();

	if (reader)
		settle_returned(task, reader);
	return reader;
}

/* Fault: before the page is looked up, and again when the fault is retried. */
SEC("tp_btf")
int
BPF_PROG(fault, struct address_space *mapping, unsigned long index)
{
	struct inode *host = regular_host(mapping);
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	__u64 taken;

	if (was_seen(EVENT_FAULT, index) || !state.counting || !host)
		return 0;
	if (!(reader = faulting_reader(task)))
		return 0;
	cache = cache_of(mapping);
	reader->fault_mapping = cache.mapping;
	reader->fault_index = index;
	taken = ledger_take(&cache, index, index + 1, NO_BEGINNING);
	if (taken)
		reader->fault_missed = true;
	count(fault_counter(reader), taken, is_target(task->tgid));
	return 0;
}

/* Fault-around: pages near the fault were mapped without a fault of their own. */
SEC("tp_btf")
int
BPF_PROG(map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	struct inode *host = regular_host(mapping);
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	__u64 taken;

	/* tmpfs and shared memory map by the same function */
	if (was_seen(EVENT_MAP, first) || !state.counting || !host ||
	    host->i_sb->s_magic == TMPFS_MAGIC)
		return 0;
	if (!(reader = faulting_reader(task)))
		return 0;
	cache = cache_of(mapping);
	taken = ledger_take(&cache, first, last + 1, NO_BEGINNING);
	if (!taken)
		return 0;
	/* the event does not say which page faulted: one of those that were filled */
	if (!reader->fault_guessed && !reader->fault_mapping) {
		reader->fault_guessed = true;
		count(FAULT_MISSES, 1, is_target(task->tgid));
		taken--;
	}
	count(MAPPED, taken, is_target(task->tgid));
	return 0;
}

#endif
