/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REQUEST_H
#define HOTSET_REQUEST_H

/*
 * Read calls, as the kernel's look-ups show them. A call looks pages up batch by
 * batch; each batch reports the range from its own start to the end of the request,
 * and the kernel is silent about a batch whose last folio it waited for. So the call
 * says where the request starts, the first batch how far it wants to go, and what the
 * task has been given in bytes, once the call has returned, how far it came.
 *
 * Until then the request is held: it is settled at the task's next read, at its end,
 * or when hitratio takes its figures, whatever comes first.
 */
#include "ledger.h"
#include "syscall.h"

/* A batch is at most 31 folios of at most 2 MiB. */
#define BATCH_PAGES (31 << 9)

/* Its pages are likely in the last batch where so few are left: these are taken out
 * of the ledger at once, since they may be evicted before the request is settled. */
#define TAIL_PAGES  512
#define TAIL_GROUPS (TAIL_PAGES / GROUP_PAGES + 1)

struct request {
	struct cache cache;
	__u64 last;              /* last page asked for */
	__u64 syscr, rchar;      /* the task's figures when it began */
	__u64 position;          /* bytes */
	__u64 start;             /* first page */
	__u64 index;             /* first page of the latest batch: those before it are read */
	__u64 end;               /* page behind the last that the file has */
	__u64 taken;             /* page behind the last that was looked for in the ledger */
	__u64 misses;            /* of the pages before that */
	__u64 tail_group;        /* the last batch: its first group, */
	__u64 tail[TAIL_GROUPS]; /* and what was taken out for it */
	bool tailed;
};

struct reader {
	struct request request;
	__u64 held;       /* the request's own number, 0: nothing to settle */
	__u64 generation; /* the latest number */

	/* Page faults: see pagecache.bpf.c. */
	__u64 fault_mapping, fault_index;
	__u64 fault_serial;
	bool fault_missed, fault_named;
};

static inline bool
is_same_request(const struct request *request, const struct task_struct *task,
    const struct call *call, const struct cache *cache, __u64 index, __u64 last)
{
	/* within one request every batch begins behind the one before; the pieces of a
	 * sendfile ask for more and more */
	return request->cache.mapping == cache->mapping && request->syscr == task->ioac.syscr &&
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

static inline void
request_begin(struct request *request, const struct task_struct *task, const struct call *call,
    const struct cache *cache, __u64 index, __u64 last)
{
	__u64 start = request_start(call, index);

	request->cache = *cache;
	request->last = last;
	request->syscr = task->ioac.syscr;
	request->rchar = task->ioac.rchar;
	request->position = call->position;
	request->start = start;
	request->index = start;
	request->end = start;
	request->taken = start;
	request->misses = 0;
	request->tailed = false;
}

/* The bits of pages FIRST up to END in GROUP. */
static inline __u64
group_bits(__u64 group, __u64 first, __u64 end)
{
	__u64 base = group << GROUP_SHIFT;

	if (end <= base || first >= base + GROUP_PAGES)
		return 0;
	return bits_between(base, first, end);
}

/* Takes pages FIRST up to END, the rest of the request, and remembers which. */
static inline void
request_take_tail(struct request *request, __u64 first, __u64 end)
{
	struct ledger_key key = { .mapping = request->cache.mapping };

	if (!request->tailed) {
		request->tailed = true;
		request->tail_group = first >> GROUP_SHIFT;
		for (int i = 0; i < TAIL_GROUPS; i++)
			request->tail[i] = 0;
	}
	for (int i = 0; i < TAIL_GROUPS; i++) {
		__u64 bits = group_bits(request->tail_group + i, first, end);
		__u64 taken;

		if (!bits)
			continue;
		key.group = request->tail_group + i;
		taken = group_take(&key, bits);
		if (!taken)
			continue;
		request->tail[i] |= taken;
		taken = count_bits(taken);
		request->misses += taken;
		hint_add(&request->cache, -taken);
	}
}

/* A batch begins at INDEX and the file ends before page END. */
static inline void
request_advance(struct request *request, __u64 index, __u64 end)
{
	if (end > request->end)
		request->end = end;
	request->misses += ledger_take(&request->cache, request->index, index);
	request->index = index;
	if (index > request->taken)
		request->taken = index;
	if (request->end <= index)
		return;
	if (!request->tailed && request->end - index > TAIL_PAGES)
		return;
	end = request->end;
	if (request->tailed && end > (request->tail_group + TAIL_GROUPS) << GROUP_SHIFT)
		end = (request->tail_group + TAIL_GROUPS) << GROUP_SHIFT;
	if (has_pending(&request->cache))
		request_take_tail(request, index, end);
	request->taken = end;
}

/* Where the request really ended, after CALLS read calls that gave BYTES. */
static inline __u64
request_end(const struct request *request, __u64 calls, __u64 bytes)
{
	__u64 end = bytes ? size_pages(request->position + bytes) : request->start;

	if (calls == 0)
		return request->end; /* the task was killed in it */
	if (calls == 1 || end < request->end)
		return end;
	return request->end; /* other calls, of pipes say, gave some of the bytes */
}

/* Puts what was taken out for pages from END on back. */
static inline void
request_put_back(struct request *request, __u64 end)
{
	struct ledger_key key = { .mapping = request->cache.mapping };

	for (int i = 0; i < TAIL_GROUPS; i++) {
		__u64 bits = request->tail[i] & group_bits(request->tail_group + i, end, ~0ULL);
		__u64 pages = count_bits(bits);

		if (!pages)
			continue;
		key.group = request->tail_group + i;
		hint_add(&request->cache, pages);
		group_fill(&key, bits);
		request->misses -= pages;
	}
}

/* Ends the request of TASK, whose figures are the latest: its pages and misses are in
 * *REQUEST, a copy. False where there is nothing to settle. */
static inline bool
request_settle(struct reader *reader, const struct task_struct *task, struct request *request)
{
	__u64 held = reader->held, calls, bytes, end;

	if (!held)
		return false;
	*request = reader->request;
	calls = task->ioac.syscr - request->syscr;
	bytes = task->ioac.rchar - request->rchar;
	/* the task itself and hitratio's look may be here at once; where the number
	 * is still the same the copy is of one piece */
	if (__sync_val_compare_and_swap(&reader->held, held, 0) != held)
		return false;
	end = request_end(request, calls, bytes);
	if (end < request->taken && request->tailed && request->misses)
		request_put_back(request, end);
	else if (end > request->taken)
		request->misses += ledger_take(&request->cache, request->taken, end);
	request->end = end;
	return true;
}

#endif
