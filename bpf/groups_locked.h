/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_GROUPS_LOCKED_H
#define HOTSET_GROUPS_LOCKED_H

/*
 * The ledger's entries as in groups.h, for kernels without atomic operations that return
 * the old value (before 5.12): each entry is changed under a lock. Tracing programs may
 * take no spin lock, but to put a key into a hash that must not be there yet is one: it
 * succeeds for one of those who try. Its holder is at work on another processor, since
 * 5.10 does not preempt a program; later kernels may, and then nobody waits for long.
 */
#include "bits.h"
#include "sums.h"

/*
 * The tries to take a lock, as rounds of so many, since the verifier follows each turn of a
 * loop: about a second. Its holder needs a microsecond, but may be interrupted, and its
 * processor kept from running where it is a virtual one.
 */
#define ROUNDS 10000
#define TRIES  1000

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12); /* no more than there are processors */
	__type(key, struct ledger_key);
	__type(value, __u8);
} locks SEC(".maps");

static inline bool
try_lock(const struct ledger_key *key)
{
	__u8 held = 1;

	return bpf_map_update_elem(&locks, key, &held, BPF_NOEXIST) == 0;
}

__noinline int
spin(__u64 mapping, __u64 group)
{
	struct ledger_key key = { mapping, group };

	for (int i = 0; i < TRIES; i++)
		if (try_lock(&key))
			return true;
	return false;
}

__noinline int
group_lock(__u64 mapping, __u64 group)
{
	for (int i = 0; i < (settings.patient ? ROUNDS : 1); i++)
		if (spin(mapping, group))
			return true;
	return false;
}

static inline void
group_unlock(const struct ledger_key *key)
{
	bpf_map_delete_elem(&locks, key);
}

/* Puts BITS into the group's mask; returns how many were not there before, and in the
 * upper half how many found no room. */
__noinline __u64
group_fill(__u64 mapping, __u64 group, __u64 bits)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry fresh = { .mask = bits }, *entry;
	__u64 result = count_bits(bits) << 32;

	if (!group_lock(mapping, group))
		return result;
	entry = bpf_map_lookup_elem(&ledger, &key);
	if (entry) {
		result = count_bits(bits & ~entry->mask);
		entry->mask |= bits;
	} else if (bpf_map_update_elem(&ledger, &key, &fresh, BPF_NOEXIST) == 0) {
		result = count_bits(bits);
		__sync_fetch_and_add(&state.ledger_entries, 1);
	}
	group_unlock(&key);
	return result;
}

/* Accesses BITS of the group, by what BEGAN when; returns how many were pending. */
__noinline __u64
group_take(__u64 mapping, __u64 group, __u64 bits, __u64 began)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, &key);
	__u64 taken = 0, aside = 0;

	if (!entry || !((entry->mask | entry->evicted) & bits))
		return 0;
	if (!group_lock(mapping, group)) {
		count(UNSEEN, 1, false);
		return 0;
	}
	entry = bpf_map_lookup_elem(&ledger, &key);
	if (entry) {
		taken = entry->mask & bits;
		entry->mask &= ~bits;
		/* of a page that was evicted and came again the later fill is this access's */
		if (entry->evicted_at > began)
			aside = entry->evicted & bits & ~taken;
		entry->evicted &= ~aside;
	}
	group_unlock(&key);
	if (aside)
		__sync_fetch_and_add(&state.set_aside, -count_bits(aside));
	return count_bits(taken | aside);
}

/* Evicts BITS of the group, which go into the second mask; returns how many are gone for
 * good: set aside before, and not accessed since. */
__noinline __u64
group_evict(__u64 mapping, __u64 group, __u64 bits)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, &key);
	__u64 taken = 0, before = 0;

	if (!entry || !(entry->mask & bits))
		return 0;
	if (!group_lock(mapping, group)) {
		count(UNSEEN, 1, false);
		return 0;
	}
	entry = bpf_map_lookup_elem(&ledger, &key);
	if (entry) {
		taken = entry->mask & bits;
		before = entry->evicted & taken;
		entry->mask &= ~bits;
		entry->evicted |= taken;
		__sync_fetch_and_add(&state.evictions, 1);
		entry->evicted_at = *(volatile __u64 *)&state.evictions;
	}
	group_unlock(&key);
	if (taken)
		__sync_fetch_and_add(&state.set_aside, count_bits(taken & ~before));
	return count_bits(before);
}

/* Takes what was set aside in the group until eviction UPTO; returns how many pages. */
static inline __u64
group_forget(const struct ledger_key *key, __u64 upto)
{
	struct ledger_entry *entry;
	__u64 pages = 0;

	if (!group_lock(key->mapping, key->group))
		return 0; /* the next sweep's */
	entry = bpf_map_lookup_elem(&ledger, key);
	if (entry && entry->evicted_at <= upto) {
		pages = count_bits(entry->evicted);
		entry->evicted = 0;
		__sync_fetch_and_add(&state.set_aside, -pages);
	}
	group_unlock(key);
	return pages;
}

static inline void
group_delete_empty(const struct ledger_key *key)
{
	struct ledger_entry *entry;

	if (!group_lock(key->mapping, key->group))
		return;
	entry = bpf_map_lookup_elem(&ledger, key);
	if (entry && !entry->mask && !entry->evicted && bpf_map_delete_elem(&ledger, key) == 0)
		__sync_fetch_and_add(&state.ledger_entries, -1);
	group_unlock(key);
}

#endif
