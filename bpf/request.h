/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REQUEST_H
#define HOTSET_REQUEST_H

/*
 * Read calls, as the kernel's look-ups show them. A call looks pages up batch by
 * batch; each batch reports the range from its own start to the end of the request,
 * and the kernel is silent about a batch whose last folio it waited for. So the call
 * says where the request starts, its batches how far it wants to go, and what the
 * task has been given in bytes, once the call has returned, how far it came.
 *
 * Until then the request is held: it is settled at the task's next read, at its end,
 * or when hitratio looks, whatever comes first.
 */
#include "ledger.h"
#include "syscall.h"

#define LAST_UNKNOWN (~0ULL)

struct request {
	/* what its settling takes lies together */
	__u64 number;       /* odd: held; the next is even: settled */
	__u64 syscr, rchar; /* the task's figures when it began */
	__u64 position;     /* bytes */
	__u64 start;        /* first page */
	enum call_kind kind;
	bool by_bytes; /* what the task was given says where it ended */

	struct cache cache;
	__u64 end;          /* page behind the last that the file has */
	__u64 last;         /* last page asked for, or LAST_UNKNOWN */
	__u64 next;         /* the least page that another batch of it can begin with */
	__u64 began;        /* evictions before it can have read a page */
	__u64 seen;         /* evictions by the task's latest event; stays from one to the next */
	__u64 syscw, wchar; /* as the figures above, of a sendfile */
	__u64 filling;      /* syscr + 1 of the task's latest call that brought pages in */
	__u64 unfilled;     /* evictions before it did */
};

static inline bool
is_held(const struct request *request)
{
	return *(volatile __u64 *)&request->number & 1;
}

/* Whether REQUEST is of CALL, in which the task is. */
static inline bool
is_same_call(const struct request *request, const struct task_struct *task, const struct call *call,
    const struct cache *cache)
{
	return request->syscr == task->ioac.syscr && request->cache.mapping == cache->mapping &&
	    request->kind == call->kind && request->position == call->position;
}

static inline bool
is_same_request(const struct request *request, const struct task_struct *task,
    const struct call *call, const struct cache *cache, __u64 index, __u64 last)
{
	/* within one request every batch begins behind the one before; the pieces of a
	 * sendfile ask for more and more */
	return is_same_call(request, task, call, cache) && index >= request->next &&
	    (request->last == last || request->last == LAST_UNKNOWN ||
		(call->kind == CALL_SEND && last > request->last));
}

/* The first page of a request whose first event names INDEX. */
static inline __u64
request_start(const struct call *call, __u64 index)
{
	__u64 start = call->position >> PAGE_SHIFT;

	return call->positioned && start < index ? start : index;
}

/* The call that goes on is about to bring pages in. They may be gone before it shows its first
 * batch: a truncation takes them from whoever holds them. */
static inline void
request_fills(struct request *request, const struct task_struct *task)
{
	if (request->filling == task->ioac.syscr + 1)
		return;
	request->filling = task->ioac.syscr + 1;
	request->unfilled = state.evictions;
}

/* Where it shows its start it has read nothing before, but may have brought pages in. Else its
 * first batches were silent, and it may have begun right after what the task's latest event
 * showed. */
static inline void
request_begin(struct request *request, const struct task_struct *task, const struct call *call,
    const struct cache *cache, __u64 index, __u64 last)
{
	__u64 start = request_start(call, index);

	if (start < index)
		request->began = request->seen;
	else
		request->began = request->filling == task->ioac.syscr + 1 ? request->unfilled
									  : state.evictions;
	request->cache = *cache;
	request->last = last;
	request->syscr = task->ioac.syscr;
	request->rchar = task->ioac.rchar;
	if (call->kind == CALL_SEND) {
		request->syscw = task->ioac.syscw;
		request->wchar = task->ioac.wchar;
	}
	request->position = call->position;
	request->start = start;
	request->next = index;
	request->end = start;
	request->kind = call->kind;
	request->by_bytes = (call->kind == CALL_READ || call->kind == CALL_SEND) &&
	    call->positioned && call->position >> PAGE_SHIFT == start;
}

/* From here on it is held, also again where what it showed before has been settled. */
static inline void
request_hold(struct request *request)
{
	*(volatile __u64 *)&request->number = request->number + 1;
}

/*
 * Ends the request that was held by NUMBER. The task itself and hitratio's look may be here
 * at once: one of them is told that it is his to count.
 */
static inline bool
request_settle(struct request *request, __u64 number)
{
	return __sync_val_compare_and_swap(&request->number, number, number + 1) == number;
}

/* Where the request really ended, by the task's figures NOW. */
static __always_inline __u64
request_end(const struct request *request, const struct task_io_accounting *now)
{
	__u64 calls = now->syscr - request->syscr, bytes = now->rchar - request->rchar;
	__u64 end, written;

	if (!request->by_bytes || calls == 0)
		return request->end;
	/* a sendfile is both a read and a write; reads and writes of pipes and sockets
	 * may have come after it */
	if (request->kind == CALL_SEND && calls > 1) {
		written = now->wchar - request->wchar;
		if (written < bytes)
			bytes = written;
		if (now->syscw - request->syscw == 1)
			calls = 1;
	}
	end = bytes ? size_pages(request->position + bytes) : request->start;
	if (calls == 1 || end < request->end)
		return end;
	return request->end; /* other calls gave some of the bytes */
}

#endif
