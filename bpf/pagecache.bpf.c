// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts accesses of the page cache and which of them were the first to a filled
 * page. Programs are named by role; hooks.def says where each is attached.
 */
#include "ledger.h"
#include "shared.h"
#include "syscall.h"

#define BATCH_PAGES  (31 << 9) /* one look-up: 31 folios of at most 2 MiB */
#define PIPE_PAGES   16
#define IOCB_DIRECT  (1 << 17) /* 5.10 */

char LICENSE[] SEC("license") = "GPL";

const volatile bool has_target;

/* Set once every program is attached: one that saw a fill whose access came before
 * the program that sees accesses would call a later access a miss. */
bool counting;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCOPES);
	__type(key, __u32);
	__type(value, struct counters);
} sums SEC(".maps");

/* Process ids (tgid) whose sums SCOPE_TARGET holds. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

/*
 * What a task does now. A read call looks pages up batch by batch, and each batch
 * reports the range from its own start to the end of the request: the request is
 * what ties them together.
 */
struct reader {
	__u64 mapping, last; /* of the request: its file and its last page */
	__u64 syscr;         /* read calls that had returned when it began */
	__u64 index;         /* where the latest batch began */
	__u64 counted;       /* the page behind the last that was counted */
	__u64 piece;         /* splice: where the pipe's current fill began */
	__u64 fault_mapping, fault_index;
	__u64 fault_serial;  /* the fault that was counted last, plus 1 */
	bool fault_missed;   /* it was counted as a miss already */
	bool fault_named;    /* fault_index is this fault's page */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reader);
} readers SEC(".maps");

#define ADD(scope, member, pages)                                                        \
	do {                                                                             \
		struct counters *sum = scope_sums(scope);                                \
		if (sum)                                                                 \
			__sync_fetch_and_add(&sum->member, pages);                       \
	} while (0)

/* Adds to everybody's sum and, for a task that was asked about, to the target's. */
#define COUNT(target, member, pages)                                                     \
	do {                                                                             \
		__u64 n = pages;                                                         \
		if (n) {                                                                 \
			ADD(SCOPE_ALL, member, n);                                       \
			if (target)                                                      \
				ADD(SCOPE_TARGET, member, n);                            \
		}                                                                        \
	} while (0)

static inline struct counters *
scope_sums(__u32 scope)
{
	return bpf_map_lookup_elem(&sums, &scope);
}

static inline bool
is_target(const struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return has_target && bpf_map_lookup_elem(&targets, &tgid);
}

static inline struct task_struct *
current_task(void)
{
	return (void *)bpf_get_current_task_btf();
}

static inline struct reader *
reader_of(struct task_struct *task, __u64 flags)
{
	struct reader *reader = bpf_task_storage_get(&readers, (void *)task, NULL, flags);

	if (!reader && flags)
		COUNT(is_target(task), unseen, 1);
	return reader;
}

/* The kernel counts a fault when it is done (mm_account_fault), so that all events
 * of one fault, its retries too, see the same number, and the next fault another. */
static inline __u64
fault_serial(const struct task_struct *task)
{
	return task->min_flt + task->maj_flt + 1;
}

/* Whether FIRST up to END has the page that this task's fault asked for. */
static inline bool
is_faulting(const struct reader *reader, const struct task_struct *task,
    const struct address_space *mapping, __u64 first, __u64 end)
{
	return reader && reader->fault_serial == fault_serial(task) && reader->fault_named &&
	    reader->fault_mapping == (__u64)mapping && reader->fault_index >= first &&
	    reader->fault_index < end;
}

/*
 * Insert. Pages that come in for a read, a fault or their readahead are fills.
 * Readahead holds PF_MEMALLOC_NOFS, writes do not (ext4, xfs, btrfs, overlay). Two
 * kinds of fills come without: a fault under MADV_RANDOM, and a read whose
 * readahead found no memory.
 */
SEC("tp_btf")
int
BPF_PROG(insert, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	__u64 first, end, lost = 0;
	bool faulting, target;

	if (!counting || !is_regular(mapping))
		return 0;
	first = folio->index;
	end = first + folio_pages(folio);
	reader = reader_of(task, 0);
	faulting = is_faulting(reader, task, mapping, first, end);
	if (!(task->flags & PF_MEMALLOC_NOFS) && !faulting && !is_reading(task))
		return 0;
	if (is_preload(task))
		return 0;
	target = is_target(task);
	cache = cache_of(mapping);
	COUNT(target, fills, end - first);
	if (faulting && !reader->fault_missed) {
		/* its first access is under way, and has no event of its own */
		reader->fault_missed = true;
		COUNT(target, fault_misses, 1);
		if (reader->fault_index > first)
			lost += ledger_fill(&cache, first, reader->fault_index);
		if (reader->fault_index + 1 < end)
			lost += ledger_fill(&cache, reader->fault_index + 1, end);
	} else
		lost = ledger_fill(&cache, first, end);
	COUNT(target, lost, lost);
	return 0;
}

/* Evict or truncate. */
SEC("tp_btf")
int
BPF_PROG(evict, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	__u64 first = folio->index;
	struct cache cache;

	if (!counting || !is_regular(mapping))
		return 0;
	cache = cache_of(mapping);
	COUNT(false, waste, ledger_take(&cache, first, first + folio_pages(folio)));
	return 0;
}

static inline bool
is_same_request(const struct reader *reader, const struct task_struct *task,
    const struct address_space *mapping, __u64 index, __u64 last)
{
	/* within one request every batch begins behind the one before */
	return reader->mapping == (__u64)mapping && reader->last == last &&
	    reader->syscr == task->ioac.syscr && index > reader->index;
}

/*
 * The first page of a request whose first event names INDEX. The kernel is silent
 * about a batch whose last folio it waited for, so the truth is what the call asked.
 */
static inline __u64
request_start(const struct reader *reader, const struct task_struct *task,
    const struct call *call, const struct address_space *mapping, __u64 index)
{
	__u64 start = call->position >> PAGE_SHIFT;

	if (call->kind == CALL_SPLICE && reader->mapping == (__u64)mapping &&
	    reader->syscr == task->ioac.syscr && !call->single)
		start = reader->counted; /* a later piece goes on where the last ended */
	else if (!call->positioned)
		return index;
	if (start > index || (call->kind == CALL_SPLICE && index - start >= PIPE_PAGES))
		return index;
	return start;
}

/*
 * The page behind the last that a splice can take: the pipe holds a fixed number of
 * pages, and bytes that start in the middle of one need one page more than the
 * event's range was cut to.
 */
static inline __u64
splice_end(struct reader *reader, const struct call *call, __u64 index, __u64 last)
{
	__u64 end = last + 1;
	bool clipped = call->length &&
	    (call->position + call->length - 1) >> PAGE_SHIFT != last;

	if (call->single && call->positioned && clipped)
		return call->position & (PAGE_SIZE - 1) ? last : end;
	if (call->single && last - reader->piece != PIPE_PAGES)
		return end;
	if (index >= reader->piece + PIPE_PAGES)
		reader->piece = reader->counted;
	return end < reader->piece + PIPE_PAGES ? end : reader->piece + PIPE_PAGES;
}

/* Read, also by splice: one event for each batch of folios that was looked up. */
SEC("tp_btf")
int
BPF_PROG(read_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	struct call call;
	__u64 end, from, size, pages = 0;
	bool target;

	if (!counting || !is_regular(mapping))
		return 0;
	call_current(task, &call);
	if (call.kind == CALL_URING)
		return 0;
	reader = reader_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!reader)
		return 0;
	if (is_same_request(reader, task, mapping, index, last))
		from = reader->index;
	else {
		from = request_start(reader, task, &call, mapping, index);
		reader->mapping = (__u64)mapping;
		reader->last = last;
		reader->syscr = task->ioac.syscr;
		reader->counted = from;
		reader->piece = from;
	}
	reader->index = index;

	/* the range is not cut to the file's size, which may change meanwhile */
	size = size_pages(mapping->host->i_size);
	end = call.kind == CALL_SPLICE ? splice_end(reader, &call, index, last) : last + 1;
	if (end > size)
		end = size;
	if (end > reader->counted) {
		pages = end - reader->counted;
		reader->counted = end;
	}
	/* what the batches before took is out; what lies beyond this one comes later */
	if (end > index + BATCH_PAGES)
		end = index + BATCH_PAGES;
	target = is_target(task);
	cache = cache_of(mapping);
	COUNT(target, accesses, pages);
	COUNT(target, misses, ledger_take(&cache, from, end));
	return 0;
}

/* 6.18, include/uapi/linux/io_uring.h */
static inline bool
is_uring_read(unsigned char opcode)
{
	return opcode == 1 /* READV */ || opcode == 4 /* READ_FIXED */ ||
	    opcode == 22 /* READ */ || opcode == 60 /* READV_FIXED */;
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
	bool target;

	if (!counting || !is_uring_read(BPF_CORE_READ(request, opcode)))
		return 0;
	result = BPF_CORE_READ(request, cqe.res);
	if (result <= 0 || BPF_CORE_READ(iocb, ki_flags) & IOCB_DIRECT)
		return 0;
	mapping = BPF_CORE_READ(iocb, ki_filp, f_mapping);
	host = BPF_CORE_READ(mapping, host);
	if ((BPF_CORE_READ(host, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	end = BPF_CORE_READ(iocb, ki_pos);
	start = end - result;
	if (start < 0)
		return 0;
	target = is_target(task);
	cache = cache_numbered((__u64)mapping, BPF_CORE_READ(host, i_ino));
	start >>= PAGE_SHIFT;
	end = size_pages(end);
	COUNT(target, accesses, end - start);
	COUNT(target, misses, ledger_take(&cache, start, end));
	return 0;
}

/* Begins a fault that has not been counted yet. */
static inline void
begin_fault(struct reader *reader, struct task_struct *task)
{
	__u64 serial = fault_serial(task);

	if (reader->fault_serial == serial)
		return;
	reader->fault_serial = serial;
	reader->fault_missed = false;
	reader->fault_named = false;
	COUNT(is_target(task), faults, 1);
}

/* Fault: before the page is looked up, and again when the fault is retried. */
SEC("tp_btf")
int
BPF_PROG(fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	__u64 taken;

	if (!counting || !is_regular(mapping))
		return 0;
	reader = reader_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!reader)
		return 0;
	begin_fault(reader, task);
	reader->fault_mapping = (__u64)mapping;
	reader->fault_index = index;
	reader->fault_named = true;
	cache = cache_of(mapping);
	taken = ledger_take(&cache, index, index + 1);
	if (taken)
		reader->fault_missed = true;
	COUNT(is_target(task), fault_misses, taken);
	return 0;
}

/* Fault-around: pages near the fault were mapped without a fault of their own. */
SEC("tp_btf")
int
BPF_PROG(map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	struct task_struct *task = current_task();
	struct reader *reader;
	struct cache cache;
	__u64 taken;

	if (!counting || !is_regular(mapping))
		return 0;
	reader = reader_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!reader)
		return 0;
	begin_fault(reader, task);
	cache = cache_of(mapping);
	taken = ledger_take(&cache, first, last + 1);
	if (!taken)
		return 0;
	/* the event does not say which page faulted: one of those that were filled */
	if (!reader->fault_missed && !reader->fault_named) {
		reader->fault_missed = true;
		COUNT(is_target(task), fault_misses, 1);
		taken--;
	}
	COUNT(is_target(task), mapped, taken);
	return 0;
}

SEC("tp_btf")
int
BPF_PROG(dirty, struct folio *folio, struct address_space *mapping)
{
	if (counting && is_regular(mapping))
		COUNT(is_target(current_task()), dirties, folio_pages(folio));
	return 0;
}

SEC("tp_btf")
int
BPF_PROG(task_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid;
	__u8 yes = 1;

	if (is_target(parent))
		bpf_map_update_elem(&targets, &tgid, &yes, BPF_ANY);
	return 0;
}

/* Its number may go to a stranger once the last thread is gone. */
SEC("tp_btf")
int
BPF_PROG(task_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

/* Run by hitratio now and then: entries without bits make room. */
SEC("syscall")
int
sweep(void *context)
{
	bpf_for_each_map_elem(&ledger, sweep_entry, NULL, 0);
	return 0;
}
