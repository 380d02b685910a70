/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FULL_H
#define HOTSET_FULL_H

/*
 * The full tier: the functions that read, splice, insert and fault say themselves what
 * they did. Each has a pair of programs by trampoline (fentry and fexit, whose arguments
 * are the function's own) and one by kprobe and kretprobe, where those are refused; both
 * end in the same code.
 *
 * Where the kernel may preempt programs, one that is put aside in its middle keeps all
 * other tasks' events on that processor from itself (prog->active). So there are two sets,
 * the second by kprobes, which are never preempted, as far as they reach: what the one
 * missed is the other's, and either finds what the other has done already, and leaves it.
 * (To keep the processor by bpf_preempt_disable is no help: the kernel takes it when that
 * ends, which is still in the program.)
 */
#include "fault.h"
#include "reading.h"

static __always_inline struct cache
mapping_cache(bool by_kprobe, struct address_space *mapping)
{
	return cache_at(by_kprobe ? (__u64)mapping : address_of(mapping));
}

/* Where FILE keeps its pages; false where they do not count. */
static __always_inline bool
find_cache(bool by_kprobe, struct file *file, struct cache *cache)
{
	struct address_space *mapping = FOLLOW(by_kprobe, file, f_mapping);
	struct inode *host = find_host(by_kprobe, mapping);

	if (host)
		*cache = mapping_cache(by_kprobe, mapping);
	return host != NULL;
}

/* --- what a kprobe leaves for the return */

/* A function's arguments go where its return finds them. */
static inline int
keep(enum kept_call which, __u64 first, __u64 second, __u64 third)
{
	struct reader *reader = reader_wanted();

	if (!reader)
		return 0;
	reader->kept[which].of[0] = first;
	reader->kept[which].of[1] = second;
	reader->kept[which].of[2] = third;
	reader->kept[which].kept = true;
	return 0;
}

static inline struct arguments *
kept(enum kept_call which)
{
	struct reader *reader = reader_of_current(false);

	if (!reader || !reader->kept[which].kept)
		return NULL;
	reader->kept[which].kept = false;
	return &reader->kept[which];
}

/* --- insert */

/* Set where a page is inserted for a write. */
static inline __u32
write_flag(void)
{
	if (bpf_core_enum_value_exists(enum ___gfp_flag_bits, ___GFP_WRITE_BIT))
		return 1U << bpf_core_enum_value(enum ___gfp_flag_bits, ___GFP_WRITE_BIT);
	return 0x1000; /* 5.4 to 6.9 */
}

/* Whether pages of MAPPING come from somewhere: not those of guest_memfd and secretmem, which
 * cannot be read, and of ramfs, which lie nowhere else. */
static __always_inline bool
has_storage(bool by_kprobe, struct address_space *mapping)
{
	const struct address_space_operations *operations = FOLLOW(by_kprobe, mapping, a_ops);

	return FOLLOW(by_kprobe, operations, readahead) ||
	    BPF_CORE_READ(mapping, host, i_sb, s_magic) != RAMFS_MAGIC;
}

/* An insert that counts: one that succeeded, and not for a write. */
static inline bool
is_fill(__u32 gfp, int result)
{
	return state.counting && result == 0 && !(gfp & write_flag());
}

/*
 * The folio is locked, and not to be read before it has been filled. One behind the end of
 * the file (5.10 and 5.15 make one for a read at an end on a page's border) holds nothing
 * that could be read.
 */
static __always_inline int
end_insert(bool by_kprobe, struct folio *folio, struct address_space *mapping, __u64 index)
{
	struct inode *host = find_host(by_kprobe, mapping);
	__u64 end = index + folio_pages(folio);
	struct reader *reader;
	struct cache cache;

	if (!host || index >= size_pages(FOLLOW(by_kprobe, host, i_size)) ||
	    !has_storage(by_kprobe, mapping))
		return 0;
	reader = reader_of_current(false);
	if (reader && reader->preloads)
		return 0;
	cache = mapping_cache(by_kprobe, mapping);
	if (record_fill(reader, &cache, index, end) && reader)
		note_stall(reader, cache.mapping, index, end);
	return 0;
}

/* The insert of which CALL has what its kprobe left, and which has gone well. */
static __noinline int
end_kept_insert(const struct arguments *call)
{
	struct folio *folio = (void *)call->of[0];

	if (!is_fill(call->of[2], 0))
		return 0;
	return end_insert(true, folio, (void *)call->of[1], BPF_CORE_READ(folio, index));
}

/* An insert that began before, and whose end nobody has seen: the kernel had no kretprobe left
 * for it, and the other set was put aside. If it succeeded the folio says so, and its pages
 * are recorded before whoever inserted them has read them. */
static __noinline int
recover_insert(void)
{
	struct arguments *call = settings.recovers ? kept(KEPT_INSERT) : NULL;
	struct folio *folio;

	if (!call || !is_fill(call->of[2], 0))
		return 0;
	folio = (void *)call->of[0];
	if ((__u64)BPF_CORE_READ(folio, mapping) == call->of[1])
		return end_kept_insert(call);
	count(UNSEEN, 1, is_current_target());
	return 0;
}

/* --- read and splice */

static __always_inline int
begin_read(bool by_kprobe, struct kiocb *iocb, struct iov_iter *iter)
{
	struct cache cache;

	if (!find_cache(by_kprobe, FOLLOW(by_kprobe, iocb, ki_filp), &cache))
		return 0;
	return begin_reading(&cache, FOLLOW(by_kprobe, iocb, ki_pos),
	    FOLLOW(by_kprobe, iter, count));
}

/* RESULT holds what was read before without the page cache (the end of a direct read). */
static __always_inline int
end_read(bool by_kprobe, struct kiocb *iocb, __s64 already, __s64 result)
{
	struct cache cache;

	if (!find_cache(by_kprobe, FOLLOW(by_kprobe, iocb, ki_filp), &cache))
		return 0;
	recover_insert();
	return end_reading(&cache, FOLLOW(by_kprobe, iocb, ki_pos), result - already);
}

static __always_inline int
begin_splice(bool by_kprobe, struct file *file, const __u64 *position, __u64 length)
{
	struct cache cache;
	__u64 start = 0;

	if (!find_cache(by_kprobe, file, &cache))
		return 0;
	bpf_probe_read_kernel(&start, sizeof start, position);
	return begin_reading(&cache, start, length);
}

static __always_inline int
end_splice(bool by_kprobe, struct file *file, const __u64 *position, __s64 result)
{
	struct cache cache;
	__u64 end = 0;

	if (!find_cache(by_kprobe, file, &cache))
		return 0;
	bpf_probe_read_kernel(&end, sizeof end, position);
	recover_insert();
	return end_reading(&cache, end, result);
}

#ifndef BEFORE_FOLIOS

/*
 * A worker of io_uring is done with WORK, whose request it does not let go of before this has
 * been seen. There are no figures of what it reads, but where it has come to the request says,
 * also where a stacked file system had a request of its own (overlayfs).
 */
static __always_inline int
end_work(struct io_wq_work *work)
{
	struct io_kiocb *request = (void *)work - bpf_core_field_offset(struct io_kiocb, work);
	struct reader *reader = reader_of_current(false);
	struct kiocb *iocb = (void *)request; /* a read's own data comes first */

	if (!reader || !is_uring_read(request))
		return 0;
	recover_insert();
	recover_worked(reader, BPF_CORE_READ(iocb, ki_pos));
	return 0;
}

#endif

/* --- preload: readahead(2), posix_fadvise(2) and madvise(2) end in generic_fadvise */

#define POSIX_FADV_WILLNEED 3

static inline int
begin_preload(int advice)
{
	struct reader *reader;

	if (advice == POSIX_FADV_WILLNEED && (reader = reader_wanted()))
		reader->preloads = true;
	return 0;
}

static inline int
end_preload(int advice)
{
	struct reader *reader;

	if (advice == POSIX_FADV_WILLNEED && (reader = reader_of_current(false)))
		reader->preloads = false;
	return 0;
}

/* --- fault */

/* The file of a fault, and where it keeps its pages; NULL where they do not count. */
static __always_inline struct file *
fault_file(bool by_kprobe, struct vm_fault *fault, struct cache *cache)
{
	struct vm_area_struct *area = FOLLOW(by_kprobe, fault, vma);
	struct file *file = FOLLOW(by_kprobe, area, vm_file);

	return state.counting && file && find_cache(by_kprobe, file, cache) ? file : NULL;
}

/* The fault's page was accessed; it was pending, or not. */
static inline void
take_faulted(const struct cache *cache, __u64 index)
{
	count(FAULT_MISSES, ledger_take(cache, index, index + 1, NO_BEGINNING),
	    is_current_target());
}

/* The page is looked up next, and the fault tried again where it must wait for it. */
static __always_inline int
begin_fault(bool by_kprobe, struct vm_fault *fault)
{
	struct reader *reader;
	struct cache cache;

	if (!fault_file(by_kprobe, fault, &cache) || !(reader = count_fault()))
		return 0;
	reader->preloads = false;
	reader->fault_index = FOLLOW(by_kprobe, fault, pgoff);
	reader->fault_mapping = cache.mapping;
	take_faulted(&cache, reader->fault_index);
	return 0;
}

/* PAGES pages at ADDRESS are mapped, for the fault or around it. */
static __always_inline int
begin_map(bool by_kprobe, struct vm_fault *fault, __u64 address, __u64 pages)
{
	struct vm_area_struct *area = FOLLOW(by_kprobe, fault, vma);
	__u64 first = FOLLOW(by_kprobe, area, vm_pgoff) +
	    ((address - FOLLOW(by_kprobe, area, vm_start)) >> PAGE_SHIFT);
	__u64 index = FOLLOW(by_kprobe, fault, pgoff);
	struct cache cache;
	struct file *file = fault_file(by_kprobe, fault, &cache);

	/* tmpfs and shared memory map by the same functions, and their pages are no fills */
	if (!file || BPF_CORE_READ(file, f_mapping, host, i_sb, s_magic) == TMPFS_MAGIC ||
	    !count_fault())
		return 0;
	recover_insert();
	if (index >= first && index < first + pages)
		take_faulted(&cache, index);
	count(MAPPED, ledger_take(&cache, first, first + pages, NO_BEGINNING), is_current_target());
	return 0;
}

/* All that one entry of the page middle directory maps, if the kernel has made it. */
static __always_inline int
end_map_huge(bool by_kprobe, struct vm_fault *fault, int result)
{
	if (result != 0)
		return 0;
	return begin_map(by_kprobe, fault, FOLLOW(by_kprobe, fault, address) & -HUGE_PAGE_SIZE,
	    HUGE_PAGE_SIZE / PAGE_SIZE);
}

/* --- by trampoline */

SEC("fentry")
int
BPF_PROG(read_begins, struct kiocb *iocb, struct iov_iter *iter)
{
	return begin_read(false, iocb, iter);
}

SEC("fexit")
int
BPF_PROG(read_ends, struct kiocb *iocb, struct iov_iter *iter, long already, long result)
{
	return end_read(false, iocb, already, result);
}

SEC("fentry")
int
BPF_PROG(splice_begins, struct file *file, __u64 *position, void *pipe, unsigned long length)
{
	return begin_splice(false, file, position, length);
}

SEC("fexit")
int
BPF_PROG(splice_ends, struct file *file, __u64 *position, void *pipe, unsigned long length,
    unsigned flags, long result)
{
	return end_splice(false, file, position, result);
}

#ifdef BEFORE_FOLIOS
SEC("fexit")
int
BPF_PROG(insert_page_ends, struct page *page, struct address_space *mapping, unsigned long index,
    unsigned gfp, int result)
{
	return is_fill(gfp, result) ? end_insert(false, page, mapping, index) : 0;
}
#else
SEC("fexit")
int
BPF_PROG(insert_ends, struct address_space *mapping, struct folio *folio, unsigned long index,
    unsigned gfp, int result)
{
	if (settings.twice)
		kept(KEPT_INSERT); /* seen */
	return is_fill(gfp, result) ? end_insert(false, folio, mapping, index) : 0;
}
#endif

SEC("fentry")
int
BPF_PROG(preload_begins, struct file *file, long long offset, long long length, int advice)
{
	return begin_preload(advice);
}

SEC("fexit")
int
BPF_PROG(preload_ends, struct file *file, long long offset, long long length, int advice)
{
	return end_preload(advice);
}

SEC("fentry")
int
BPF_PROG(fault_begins, struct vm_fault *fault)
{
	return begin_fault(false, fault);
}

SEC("fentry")
int
BPF_PROG(map_range_begins, struct vm_fault *fault, void *within, void *from, unsigned pages,
    unsigned long address)
{
	return begin_map(false, fault, address, pages);
}

SEC("fentry")
int
BPF_PROG(map_page_begins, struct vm_fault *fault, void *page, unsigned long address)
{
	return begin_map(false, fault, address, 1);
}

SEC("fentry")
int
BPF_PROG(map_faulted_begins, struct vm_fault *fault)
{
	return begin_map(false, fault, fault->address, 1);
}

#ifndef BEFORE_FOLIOS
SEC("fentry")
int
BPF_PROG(work_done, struct io_wq_work *work)
{
	return end_work(work);
}

/* It has two or three arguments: 6.16. */
SEC("fexit")
int
BPF_PROG(map_huge_ends, struct vm_fault *fault)
{
	__u64 result = 1;

	bpf_get_func_ret(ctx, &result);
	return end_map_huge(false, fault, result);
}
#endif

/* --- by kprobe and kretprobe */

SEC("kprobe")
int
read_called(struct pt_regs *regs)
{
	keep(KEPT_READ, ARGUMENT_1(regs), ARGUMENT_3(regs), 0);
	return begin_read(true, (void *)ARGUMENT_1(regs), (void *)ARGUMENT_2(regs));
}

SEC("kretprobe")
int
read_returned(struct pt_regs *regs)
{
	struct arguments *call = kept(KEPT_READ);

	return call ? end_read(true, (void *)call->of[0], call->of[1], RESULT(regs)) : 0;
}

SEC("kprobe")
int
splice_called(struct pt_regs *regs)
{
	keep(KEPT_SPLICE, ARGUMENT_1(regs), ARGUMENT_2(regs), 0);
	return begin_splice(true, (void *)ARGUMENT_1(regs), (void *)ARGUMENT_2(regs),
	    ARGUMENT_4(regs));
}

SEC("kretprobe")
int
splice_returned(struct pt_regs *regs)
{
	struct arguments *call = kept(KEPT_SPLICE);

	return call ? end_splice(true, (void *)call->of[0], (void *)call->of[1], RESULT(regs)) : 0;
}

static inline int
call_insert(__u64 folio, __u64 mapping, __u64 gfp)
{
	recover_insert();
	return keep(KEPT_INSERT, folio, mapping, gfp);
}

static inline int
return_insert(int result)
{
	struct arguments *call = kept(KEPT_INSERT);

	return call && result == 0 ? end_kept_insert(call) : 0;
}

#ifdef BEFORE_FOLIOS
SEC("kprobe")
int
insert_page_called(struct pt_regs *regs)
{
	return call_insert(ARGUMENT_1(regs), ARGUMENT_2(regs), ARGUMENT_4(regs));
}

SEC("kretprobe")
int
insert_page_returned(struct pt_regs *regs)
{
	return return_insert(RESULT(regs));
}
#else
SEC("kprobe")
int
insert_called(struct pt_regs *regs)
{
	return call_insert(ARGUMENT_2(regs), ARGUMENT_1(regs), ARGUMENT_4(regs));
}

SEC("kretprobe")
int
insert_returned(struct pt_regs *regs)
{
	return return_insert(RESULT(regs));
}
#endif

SEC("kprobe")
int
preload_called(struct pt_regs *regs)
{
	keep(KEPT_PRELOAD, ARGUMENT_4(regs), 0, 0);
	return begin_preload((int)ARGUMENT_4(regs));
}

SEC("kretprobe")
int
preload_returned(struct pt_regs *regs)
{
	struct arguments *call = kept(KEPT_PRELOAD);

	return call ? end_preload((int)call->of[0]) : 0;
}

SEC("kprobe")
int
fault_called(struct pt_regs *regs)
{
	return begin_fault(true, (void *)ARGUMENT_1(regs));
}

SEC("kprobe")
int
map_range_called(struct pt_regs *regs)
{
	return begin_map(true, (void *)ARGUMENT_1(regs), ARGUMENT_5(regs), (__u32)ARGUMENT_4(regs));
}

SEC("kprobe")
int
map_page_called(struct pt_regs *regs)
{
	return begin_map(true, (void *)ARGUMENT_1(regs), ARGUMENT_3(regs), 1);
}

SEC("kprobe")
int
map_faulted_called(struct pt_regs *regs)
{
	struct vm_fault *fault = (void *)ARGUMENT_1(regs);

	return begin_map(true, fault, BPF_CORE_READ(fault, address), 1);
}

#ifndef BEFORE_FOLIOS
SEC("kprobe")
int
work_freed(struct pt_regs *regs)
{
	return end_work((void *)ARGUMENT_1(regs));
}

SEC("kprobe")
int
map_huge_called(struct pt_regs *regs)
{
	return keep(KEPT_MAP_HUGE, ARGUMENT_1(regs), 0, 0);
}

SEC("kretprobe")
int
map_huge_returned(struct pt_regs *regs)
{
	struct arguments *call = kept(KEPT_MAP_HUGE);

	return call ? end_map_huge(true, (void *)call->of[0], RESULT(regs)) : 0;
}
#endif

#endif
