/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LEDGER_H
#define HOTSET_LEDGER_H

/*
 * The ledger of filled pages that nobody has accessed yet.
 *
 * A read counts when it has returned, and its pages may be evicted before. So what is
 * evicted is set aside in a second mask, where a read that was going on then finds it.
 * What no such read can take any more is waste: see sweep.h.
 *
 * Ranges are gone over by bpf_loop, whose body the verifier looks at once. Before 5.17, loops
 * are bounded in number and nested in global functions, which every kernel's verifier looks
 * at once; they take numbers only, since 5.10 knows no more.
 */
#include "sums.h"

/* A plain hash: one that evicts in silence would turn misses into hits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16); /* hitratio sizes it by the machine's memory */
	__type(key, struct ledger_key);
	__type(value, struct ledger_entry);
} ledger SEC(".maps");

#ifdef BEFORE_FOLIOS
#include "groups_locked.h"
#else
#include "groups.h"
#endif

/* What began when EVICTIONS was so many is not concerned by those before; to what has no
 * beginning, none is of concern. */
#define NO_BEGINNING (~0ULL)

#define CHUNK_GROUPS 128 /* 32 MiB: more than any folio has */
#define CHUNK_PAGES  (CHUNK_GROUPS * GROUP_PAGES)
#define CHUNKS       65 /* a read call gives 2 GiB at most (MAX_RW_COUNT) */

/* A file's page cache: the address of its mapping is the ledger's key. */
struct cache {
	__u64 mapping;
	__u64 hint;
};

/* The address of what POINTER leads to. To the verifier a pointer is no number, but the
 * difference of two is one. */
static inline __u64
address_of(const void *pointer)
{
	__u64 difference = (__u64)pointer - (__u64)&state;

	asm("" : "+r"(difference)); /* the compiler must not add to the pointer first */
	return difference + state.self;
}

/* For address_of. To the compiler too the pointer is no number from then on. */
static inline void
note_self(void)
{
	state.self = (__u64)&state;
	asm volatile("" : : : "memory");
}

/* Fibonacci hashing */
static inline struct cache
cache_at(__u64 mapping)
{
	return (struct cache){ mapping, mapping * 0x9e3779b97f4a7c15ULL >> (64 - HINT_BITS) };
}

static inline struct cache
cache_of(const struct address_space *mapping)
{
	return cache_at(address_of(mapping));
}

static inline void
pending_add(const struct cache *cache, __u64 pages)
{
	__sync_fetch_and_add(&state.pending[cache->hint & (HINTS - 1)], (__u32)pages);
}

static inline bool
has_pending(const struct cache *cache)
{
	return *(volatile __u32 *)&state.pending[cache->hint & (HINTS - 1)] != 0;
}

/* The bits of pages FIRST up to END in the group that begins at page BASE; some are
 * in it. */
static inline __u64
bits_between(__u64 base, __u64 first, __u64 end)
{
	__u64 bits = ~0ULL;

	if (first > base)
		bits &= ~0ULL << ((first - base) & 63);
	if (end < base + GROUP_PAGES)
		bits &= ~0ULL >> ((base + GROUP_PAGES - end) & 63);
	return bits;
}

enum bpf_func_id___looped {
	BPF_FUNC_loop___looped = 181, /* 5.17 */
};

static inline bool
has_loop(void)
{
#ifdef BEFORE_FOLIOS
	return false;
#else
	return bpf_core_enum_value_exists(enum bpf_func_id___looped, BPF_FUNC_loop___looped);
#endif
}

/* What is done with pages FIRST up to END, group by group. */
struct span {
	__u64 mapping, first, end;
	__u64 began;
	__u64 pages; /* what came of it */
};

static __always_inline __u64
span_groups(const struct span *span)
{
	return ((span->end - 1) >> GROUP_SHIFT) - (span->first >> GROUP_SHIFT) + 1;
}

static __always_inline __u64
span_bits(const struct span *span, __u64 group)
{
	return bits_between(group << GROUP_SHIFT, span->first, span->end);
}

static long
span_fill(__u64 i, struct span *span)
{
	__u64 group = (span->first >> GROUP_SHIFT) + i;

	span->pages += group_fill(span->mapping, group, span_bits(span, group));
	return 0;
}

static long
span_evict(__u64 i, struct span *span)
{
	__u64 group = (span->first >> GROUP_SHIFT) + i;

	span->pages += group_evict(span->mapping, group, span_bits(span, group));
	return 0;
}

static long
span_take(__u64 i, struct span *span)
{
	__u64 group = (span->first >> GROUP_SHIFT) + i;

	span->pages += group_take(span->mapping, group, span_bits(span, group), span->began);
	return 0;
}

/* The next two go over the groups of FIRST up to END, a chunk at most. */
__noinline __u64
chunk_fill(__u64 mapping, __u64 first, __u64 end)
{
	struct span span = { .mapping = mapping, .first = first, .end = end };
	__u64 group = first >> GROUP_SHIFT, pages = 0;

	if (has_loop()) {
		bpf_loop(span_groups(&span), span_fill, &span, 0);
		return span.pages;
	}
	for (int i = 0; i < CHUNK_GROUPS && group << GROUP_SHIFT < end; i++, group++)
		pages += group_fill(mapping, group, bits_between(group << GROUP_SHIFT, first, end));
	return pages;
}

__noinline __u64
chunk_evict(__u64 mapping, __u64 first, __u64 end)
{
	struct span span = { .mapping = mapping, .first = first, .end = end };
	__u64 group = first >> GROUP_SHIFT, pages = 0;

	if (has_loop()) {
		bpf_loop(span_groups(&span), span_evict, &span, 0);
		return span.pages;
	}
	for (int i = 0; i < CHUNK_GROUPS && group << GROUP_SHIFT < end; i++, group++)
		pages += group_evict(mapping, group,
		    bits_between(group << GROUP_SHIFT, first, end));
	return pages;
}

/* Goes over those groups of FIRST up to END that lie in chunk CHUNK. */
__noinline __u64
chunk_take(__u64 mapping, __u64 chunk, __u64 first, __u64 end, __u64 began)
{
	__u64 group = chunk * CHUNK_GROUPS, pages = 0;

	if (group < first >> GROUP_SHIFT)
		group = first >> GROUP_SHIFT;
	for (int i = 0;
	     i < CHUNK_GROUPS && group << GROUP_SHIFT < end && group < (chunk + 1) * CHUNK_GROUPS;
	     i++, group++)
		pages += group_take(mapping, group, bits_between(group << GROUP_SHIFT, first, end),
		    began);
	return pages;
}

__noinline __u64
range_take(__u64 mapping, __u64 first, __u64 end, __u64 began)
{
	struct span span = { .mapping = mapping, .first = first, .end = end, .began = began };
	__u64 chunk = first / CHUNK_PAGES, pages = 0;

	if (has_loop()) {
		bpf_loop(span_groups(&span), span_take, &span, 0);
		return span.pages;
	}
	for (int i = 0; i < CHUNKS && chunk * CHUNK_PAGES < end; i++, chunk++)
		pages += chunk_take(mapping, chunk, first, end, began);
	return pages;
}

/* What came of a fill, in pages; those that were there already are neither. */
struct filled {
	__u64 fresh, lost;
};

/* Pages FIRST up to END, of one folio, were filled. */
static __always_inline struct filled
ledger_fill(const struct cache *cache, __u64 first, __u64 end)
{
	__u64 pages = end - first, result;
	struct filled filled = { 0 };

	if (end <= first)
		return filled;
	/* before the bits: whoever could see a bit must see the hint */
	pending_add(cache, pages);
	result = chunk_fill(cache->mapping, first, end);
	filled.fresh = (__u32)result;
	filled.lost = result >> 32;
	if (filled.fresh != pages)
		pending_add(cache, filled.fresh - pages);
	return filled;
}

/* Pages FIRST up to END were accessed by what BEGAN when; returns for how many it was the
 * first time. */
static inline __u64
ledger_take(const struct cache *cache, __u64 first, __u64 end, __u64 began)
{
	__u64 pages;

	if (end <= first || !has_pending(cache))
		return 0;
	pages = range_take(cache->mapping, first, end, began);
	if (pages)
		pending_add(cache, -pages);
	return pages;
}

/* Pages FIRST up to END, of one folio, are gone; returns how many of them nobody can have
 * accessed. */
static inline __u64
ledger_evict(const struct cache *cache, __u64 first, __u64 end)
{
	__u64 pages;

	if (!has_pending(cache))
		return 0;
	pages = chunk_evict(cache->mapping, first, end);
	if (pages)
		pending_add(cache, -pages);
	return pages;
}

static inline void
count_accesses(const struct cache *cache, __u64 start, __u64 end, __u64 began, bool target)
{
	__u64 misses = ledger_take(cache, start, end, began);

	count(HITS, end - start - misses, target);
	count(MISSES, misses, target);
}

#endif
