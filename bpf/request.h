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

struct request {
	struct cache cache;
	__u64 last;                       /* last page asked for */
	__u64 syscr, rchar, syscw, wchar; /* the task's figures when it began */
	__u64 began;                      /* evictions before it can have read a page */
	__u64 position;                   /* bytes */
	__u64 start;                      /* first page */
	__u64 index;                      /* first page of the latest batch */
	__u64 end;                        /* page behind the last that the file has */
	enum call_kind kind;
	bool by_bytes; /* what the task was given says where it ended */

	/* these stay from one to the next */
	__u64 seen;       /* evictions by the task's latest event */
	__u64 held;       /* the request's own number, 0: nothing to settle */
	__u64 generation; /* the latest number */
};

static inline bool
is_same_request(const struct request *request, const struct task_struct *task,
    const struct call *call, const struct cache *cache, __u64 index, __u64 last)
{
	/* within one request every batch begins behind the one before; the pieces of a
	 * sendfile ask for more and more */
	return request->cache.mapping == cache->mapping && request->syscr == task->ioac.syscr &&
	    request->kind == call->kind && request->position == call->position &&
	    index > request->index &&
	    (request->last == last || (call->kind == CALL_SEND && last > request->last));
}

/* The first page of a request whose first event names INDEX. */
static inline __u64
request_start(const struct call *call, __u64 index)
{
	__u64 start = call->position >> PAGE_SHIFT;

	return call->positioned && start < index ? start : index;
}

/* Its first batches may have been silent, so it may have begun right after what the task's
 * latest event showed. */
static inline void
request_begin(struct request *request, const struct task_struct *task, const struct call *call,
    const struct cache *cache, __u64 index, __u64 last)
{
	__u64 start = request_start(call, index);

	request->began = request->seen;
	request->cache = *cache;
	request->last = last;
	request->syscr = task->ioac.syscr;
	request->rchar = task->ioac.rchar;
	request->syscw = task->ioac.syscw;
	request->wchar = task->ioac.wchar;
	request->position = call->position;
	request->start = start;
	request->index = index;
	request->end = start;
	request->kind = call->kind;
	request->by_bytes = (call->kind == CALL_READ || call->kind == CALL_SEND) &&
	    call->positioned && call->position >> PAGE_SHIFT == start;
}

/* Where the request really ended, by the task's figures NOW. */
static inline __u64
request_end(const struct request *request, const struct task_io_accounting *now)
{
	__u64 calls = now->syscr - request->syscr, bytes = now->rchar - request->rchar;
	__u64 written = now->wchar - request->wchar, end;

	if (!request->by_bytes || calls == 0)
		return request->end;
	/* a sendfile is both a read and a write; reads and writes of pipes and sockets
	 * may have come after it */
	if (request->kind == CALL_SEND && calls > 1) {
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

/*
 * Ends what the task had read by NOW: *ENDED, a copy, goes to its end then. False where
 * there is nothing to settle.
 */
static inline bool
request_settle(struct request *request, const struct task_io_accounting *now, struct request *ended)
{
	__u64 held = request->held;

	if (!held)
		return false;
	*ended = *request;
	/* the task itself and hitratio's look may be here at once; where the number
	 * is still the same the copy is of one piece */
	if (__sync_val_compare_and_swap(&request->held, held, 0) != held)
		return false;
	ended->end = request_end(ended, now);
	return true;
}

#endif
