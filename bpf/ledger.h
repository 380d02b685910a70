/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LEDGER_H
#define HOTSET_LEDGER_H

/*
 * The ledger of filled pages that nobody has accessed yet. Programs on several
 * processors change it at once, without locks (tracing programs may take none):
 * bits go in and out by atomic operations on the entry's mask, an entry is made
 * with BPF_NOEXIST, and only the sweep deletes one. After each change an entry is
 * looked up again, since the map uses a deleted entry's memory anew at once: where
 * it is no longer the same, the change is undone and tried again.
 *
 * A read counts when it has returned, and its pages may be evicted before. So what is
 * evicted while a read of the file goes on is set aside in a second mask, where that read
 * finds it; what no read took is waste by the time that none goes on (the sweep).
 */
#include "kernel.h"
#include "shared.h"

#define GROUP_SHIFT 6
#define GROUP_PAGES (1 << GROUP_SHIFT)
#define TRIES       4

/* A plain hash: one that evicts in silence would turn misses into hits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16); /* hitratio sizes it by the machine's memory */
	__type(key, struct ledger_key);
	__type(value, struct ledger_entry);
} ledger SEC(".maps");

__u32 pending_hints[HINTS];
__u32 reading_hints[HINTS];
__u64 ledger_entries;
__u64 set_aside; /* pages in the second masks */
__u64 evictions; /* how often pages were set aside, ever */

/* What began when EVICTIONS was so many is not concerned by those before; to what has no
 * beginning, none is of concern. */
#define NO_BEGINNING (~0ULL)

/*
 * A file's page cache: the address of its mapping is the ledger's key. Pointers are
 * no numbers to the verifier, so the inode's number picks the hint.
 */
struct cache {
	__u64 mapping;
	__u64 hint;
};

static inline struct cache
cache_numbered(__u64 mapping, __u64 ino)
{
	/* Fibonacci hashing */
	return (struct cache){ mapping, ino * 0x9e3779b97f4a7c15ULL >> (64 - HINT_BITS) };
}

static inline struct cache
cache_of(const struct address_space *mapping, const struct inode *host)
{
	return cache_numbered((__u64)mapping, host->i_ino);
}

static inline __u32 *
pending_hint(const struct cache *cache)
{
	return &pending_hints[cache->hint & (HINTS - 1)];
}

static inline void
pending_add(const struct cache *cache, __u64 pages)
{
	__sync_fetch_and_add(pending_hint(cache), (__u32)pages);
}

/* A read of the file begins or ends. */
static inline void
reading_add(const struct cache *cache, int reads)
{
	__sync_fetch_and_add(&reading_hints[cache->hint & (HINTS - 1)], reads);
}

static inline bool
is_being_read(__u64 hint)
{
	return *(volatile __u32 *)&reading_hints[hint & (HINTS - 1)] != 0;
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

/*
 * The next three are global functions, which the verifier looks at once and not again
 * on each way that leads to them; it does not know that KEY is never NULL.
 */
__noinline __u64
count_bits(__u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return bits * 0x0101010101010101ULL >> 56;
}

/* Puts BITS into the group's mask; returns how many found no room. */
__noinline __u64
group_fill(const struct ledger_key *key, __u64 bits, __u32 hint)
{
	struct ledger_entry fresh = { .mask = bits, .hint = hint };

	if (!key)
		return count_bits(bits);
	for (int i = 0; i < TRIES; i++) {
		struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, key);
		__u64 before;

		if (!entry) {
			if (bpf_map_update_elem(&ledger, key, &fresh, BPF_NOEXIST) == 0) {
				__sync_fetch_and_add(&ledger_entries, 1);
				return 0;
			}
			continue;
		}
		before = __sync_fetch_and_or(&entry->mask, bits);
		if (!*(volatile __u32 *)&entry->dead && bpf_map_lookup_elem(&ledger, key) == entry)
			return 0;
		__sync_fetch_and_and(&entry->mask, ~(bits & ~before));
	}
	return count_bits(bits);
}

/* Accesses BITS of the group, by what BEGAN when; returns how many were pending. */
__noinline __u64
group_take(const struct ledger_key *key, __u64 bits, __u64 began)
{
	struct ledger_entry *entry;
	__u64 taken, aside = 0;

	if (!key)
		return 0;
	entry = bpf_map_lookup_elem(&ledger, key);
	if (!entry || !((entry->mask | entry->evicted) & bits))
		return 0;
	taken = __sync_fetch_and_and(&entry->mask, ~bits) & bits;
	/* of a page that was evicted and came again the later fill is this access's */
	if ((entry->evicted & bits & ~taken) && entry->evicted_at > began)
		aside = __sync_fetch_and_and(&entry->evicted, ~bits | taken) & bits & ~taken;
	if (bpf_map_lookup_elem(&ledger, key) != entry) {
		__sync_fetch_and_or(&entry->mask, taken);
		__sync_fetch_and_or(&entry->evicted, aside);
		return 0;
	}
	if (aside)
		__sync_fetch_and_add(&set_aside, -count_bits(aside));
	return count_bits(taken | aside);
}

/* Evicts BITS of the group, which go into the second mask where TO_KEEP;
 * returns how many are gone for good. */
__noinline __u64
group_evict(const struct ledger_key *key, __u64 bits, bool to_keep)
{
	struct ledger_entry *entry;
	__u64 taken, before;

	if (!key)
		return 0;
	entry = bpf_map_lookup_elem(&ledger, key);
	if (!entry || !(entry->mask & bits))
		return 0;
	taken = __sync_fetch_and_and(&entry->mask, ~bits) & bits;
	if (bpf_map_lookup_elem(&ledger, key) != entry) {
		__sync_fetch_and_or(&entry->mask, taken);
		return 0;
	}
	if (!to_keep)
		return count_bits(taken);
	entry->evicted_at = __sync_fetch_and_add(&evictions, 1) + 1;
	before = __sync_fetch_and_or(&entry->evicted, taken);
	__sync_fetch_and_add(&set_aside, count_bits(taken & ~before));
	return count_bits(taken & before); /* set aside before, and not accessed since */
}

/* A walk over the groups that pages FIRST up to END (not in it) lie in. */
struct ledger_walk {
	struct ledger_key key;
	__u64 first, end;
	__u64 pages; /* the result */
	__u64 began;
	__u32 hint;
	bool to_keep;
};

static inline __u64
walk_bits(const struct ledger_walk *walk)
{
	return bits_between(walk->key.group << GROUP_SHIFT, walk->first, walk->end);
}

static long
walk_fill(__u32 i, void *data)
{
	struct ledger_walk *walk = data;

	walk->pages += group_fill(&walk->key, walk_bits(walk), walk->hint);
	walk->key.group++;
	return 0;
}

static long
walk_take(__u32 i, void *data)
{
	struct ledger_walk *walk = data;

	walk->pages += group_take(&walk->key, walk_bits(walk), walk->began);
	walk->key.group++;
	return 0;
}

static long
walk_evict(__u32 i, void *data)
{
	struct ledger_walk *walk = data;

	walk->pages += group_evict(&walk->key, walk_bits(walk), walk->to_keep);
	walk->key.group++;
	return 0;
}

static inline __u32
walk_start(struct ledger_walk *walk, const struct cache *cache, __u64 first, __u64 end)
{
	walk->key.mapping = cache->mapping;
	walk->key.group = first >> GROUP_SHIFT;
	walk->first = first;
	walk->end = end;
	walk->pages = 0;
	walk->hint = cache->hint;
	walk->began = NO_BEGINNING;
	walk->to_keep = false;
	return (__u32)(((end - 1) >> GROUP_SHIFT) - (first >> GROUP_SHIFT) + 1);
}

/* Pages FIRST up to END were filled; returns how many found no room. */
static inline __u64
ledger_fill(const struct cache *cache, __u64 first, __u64 end)
{
	struct ledger_walk walk;
	__u32 groups = walk_start(&walk, cache, first, end);

	/* before the bits: whoever could see a bit must see the hint */
	pending_add(cache, end - first);
	if (groups == 1)
		walk_fill(0, &walk);
	else
		bpf_loop(groups, walk_fill, &walk, 0);
	if (walk.pages)
		pending_add(cache, -walk.pages);
	return walk.pages;
}

/* Pages FIRST up to END were accessed by what BEGAN when; returns for how many it was the
 * first time. */
static inline __u64
ledger_take(const struct cache *cache, __u64 first, __u64 end, __u64 began)
{
	struct ledger_walk walk;
	__u32 groups;

	if (end <= first || !*(volatile __u32 *)pending_hint(cache))
		return 0;
	groups = walk_start(&walk, cache, first, end);
	walk.began = began;
	if (groups == 1)
		walk_take(0, &walk);
	else
		bpf_loop(groups, walk_take, &walk, 0);
	if (walk.pages)
		pending_add(cache, -walk.pages);
	return walk.pages;
}

/* Pages FIRST up to END are gone; returns how many of them nobody can have accessed. */
static inline __u64
ledger_evict(const struct cache *cache, __u64 first, __u64 end)
{
	struct ledger_walk walk;
	__u32 groups;

	if (!*(volatile __u32 *)pending_hint(cache))
		return 0;
	groups = walk_start(&walk, cache, first, end);
	walk.to_keep = is_being_read(cache->hint);
	if (groups == 1)
		walk_evict(0, &walk);
	else
		bpf_loop(groups, walk_evict, &walk, 0);
	if (walk.pages)
		pending_add(cache, -walk.pages);
	return walk.pages;
}

/* What was set aside in ENTRY and is no read's any more; returns how many pages. */
static inline __u64
sweep_evicted(struct ledger_entry *entry)
{
	__u64 pages;

	if (!entry->evicted || is_being_read(entry->hint))
		return 0;
	pages = count_bits(__sync_lock_test_and_set(&entry->evicted, 0));
	__sync_fetch_and_add(&set_aside, -pages);
	__sync_fetch_and_add(&pending_hints[entry->hint & (HINTS - 1)], -(__u32)pages);
	return pages;
}

/* Deletes an entry without bits: whoever puts one in after the mark sees the mark. */
static inline void
sweep_empty(void *map, struct ledger_key *key, struct ledger_entry *entry)
{
	if (entry->mask || entry->evicted)
		return;
	__sync_lock_test_and_set(&entry->dead, 1);
	if (*(volatile __u64 *)&entry->mask || *(volatile __u64 *)&entry->evicted) {
		__sync_lock_test_and_set(&entry->dead, 0);
		return;
	}
	if (bpf_map_delete_elem(map, key) == 0)
		__sync_fetch_and_add(&ledger_entries, -1);
}

#endif
