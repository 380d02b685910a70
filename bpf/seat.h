/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SEAT_H
#define HOTSET_SEAT_H

/*
 * Where a task's request is kept from one event to the next. A look-up of task storage
 * costs as much as all else that is done at a read of cached pages, so a task takes a seat
 * at its first read, found by its address, until it exits. Who finds his taken has one in
 * his storage, for good.
 *
 * Hits are added up in the seat, by its task alone, and told to the sums when hitratio
 * looks and when the task exits.
 */
#include "request.h"

#define SEAT_BITS 12
#define SEATS     (1 << SEAT_BITS)

struct seat {
	__u64 owner; /* address of its task; 0: free */
	__u64 hits;  /* of all its tasks */
	struct request request;
	__u64 told;       /* of the hits, those that are in the sums */
	__u64 event;      /* of the task, which the next set is to find done: see was_seen */
	__u64 task_event; /* the same of what becomes of a task that would sit here */
	bool target;      /* whether the task was asked about: see seat_ask */
} __attribute__((aligned(64)));

struct seat seats[SEATS] SEC(".bss.seats");

static inline struct seat *
seat_at(__u64 owner)
{
	/* Fibonacci hashing */
	return &seats[owner * 0x9e3779b97f4a7c15ULL >> (64 - SEAT_BITS)];
}

/* OWNER has it from now on. The evictions that the one before has seen say nothing of when
 * this one began. */
static inline void
seat_prepare(struct seat *seat)
{
	seat->request.cache.mapping = 0;
	seat->request.seen = 0;
	seat->request.filling = 0;
}

/* To be called before its owner's first request begins, which the seat then has a mapping of.
 * Not as it is taken: where that is at any event (see was_seen) hitratio may not have said yet
 * who is asked about. */
static __always_inline void
seat_ask(struct seat *seat, const struct task_struct *task)
{
	if (!seat->request.cache.mapping)
		seat->target = is_target(task->tgid);
}

/*
 * Tells the sums of hits that they do not have yet. The task, as it exits, and hitratio may
 * be here at once. Whose hits they are is asked after them: where the seat has changed hands
 * since, the one before has told all of his.
 */
static inline void
seat_tell(struct seat *seat)
{
	__u64 told = *(volatile __u64 *)&seat->told;
	__u64 hits = *(volatile __u64 *)&seat->hits;
	bool target = *(volatile bool *)&seat->target;

	if (hits != told && __sync_val_compare_and_swap(&seat->told, told, hits) == told)
		count(HITS, hits - told, target);
}

/* Counts what the task itself has held. */
static __always_inline void
seat_settle(struct seat *seat, const struct task_struct *task)
{
	struct request *request = &seat->request;
	__u64 number = request->number, start = request->start, end, misses = 0;

	if (!(number & 1))
		return;
	end = request_end(request, &task->ioac);
	if (!request_settle(request, number) || end <= start)
		return;
	if (has_pending(&request->cache)) {
		misses = ledger_take(&request->cache, start, end, request->began);
		count(MISSES, misses, seat->target);
	}
	seat->hits += end - start - misses;
}

/*
 * What TASK holds, when hitratio looks: calls that have returned count. A look while the
 * task's figures change waits for the next one. Of what is settled without them nobody
 * knows whether it goes on. The number is read before the figures: if it is still the same
 * after them, they are of this request or later. True where it held something: a task that
 * has just read a file may be about to do so again, before its first event.
 */
static __always_inline bool
seat_look(struct seat *seat, const struct task_struct *task, __u64 number)
{
	const volatile struct task_io_accounting *figures = &task->ioac;
	struct task_io_accounting now;
	struct request held;
	__u64 end;

	if (!(number & 1))
		return false;
	now.syscr = figures->syscr;
	now.syscw = figures->syscw;
	now.rchar = figures->rchar;
	now.wchar = figures->wchar;
	held = seat->request;
	if (now.syscr != figures->syscr || now.syscw != figures->syscw)
		return true;
	if (now.syscr == held.syscr && held.by_bytes)
		return true;
	if (!request_settle(&seat->request, number))
		return true;
	end = request_end(&held, &now);
	if (end > held.start)
		count_accesses(&held.cache, held.start, end, held.began, seat->target);
	return true;
}

/* Whether TASK, any one, is in a call that reads the file of MAPPING, as far as it can be
 * told: overlayfs reads from another file than the one that is named. */
static __always_inline bool
reads_now(const struct task_struct *task, __u64 mapping)
{
	const struct pt_regs *regs = registers_of(task);
	long number = task->thread_info.status & TS_COMPAT ? NO_CALL : call_number(task, regs);
	struct file *file;

	switch (number) {
	case NR_READ:
	case NR_READV:
	case NR_PREAD64:
	case NR_PREADV:
	case NR_PREADV2:
	case NR_SENDFILE:
	case NR_SPLICE:
	case NR_COPY_FILE_RANGE:
		file = fd_file(task, number == NR_SENDFILE ? regs->si : regs->di);
		return file &&
		    (address_of(file->f_mapping) == mapping ||
			file->f_mapping->host->i_sb->s_magic == OVERLAYFS_SUPER_MAGIC);
	}
	return false;
}

#endif
