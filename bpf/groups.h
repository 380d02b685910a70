/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_GROUPS_H
#define HOTSET_GROUPS_H

/*
 * The ledger's entries, 64 pages each. Programs on several processors change them at
 * once, without locks (tracing programs may take none): bits go in and out by atomic
 * operations on the entry's masks, an entry is made with BPF_NOEXIST, and only the sweep
 * deletes one. After each change an entry is looked up again, since the map uses a deleted
 * entry's memory anew at once: where it is no longer the same, the change is undone and
 * tried again.
 */
#include "bits.h"
#include "sums.h"

#define TRIES 4

/* Puts BITS into the group's mask; returns how many were not there before, and in the
 * upper half how many found no room. */
__noinline __u64
group_fill(__u64 mapping, __u64 group, __u64 bits)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry fresh = { .mask = bits };

	for (int i = 0; i < TRIES; i++) {
		struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, &key);
		__u64 before;

		if (!entry) {
			if (bpf_map_update_elem(&ledger, &key, &fresh, BPF_NOEXIST) == 0) {
				__sync_fetch_and_add(&state.ledger_entries, 1);
				return count_bits(bits);
			}
			continue;
		}
		before = __sync_fetch_and_or(&entry->mask, bits);
		if (!*(volatile __u64 *)&entry->dead && bpf_map_lookup_elem(&ledger, &key) == entry)
			return count_bits(bits & ~before);
		__sync_fetch_and_and(&entry->mask, ~(bits & ~before));
	}
	return count_bits(bits) << 32;
}

/* Accesses BITS of the group, by what BEGAN when; returns how many were pending. */
__noinline __u64
group_take(__u64 mapping, __u64 group, __u64 bits, __u64 began)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, &key);
	__u64 taken, aside = 0;

	if (!entry || !((entry->mask | entry->evicted) & bits))
		return 0;
	taken = __sync_fetch_and_and(&entry->mask, ~bits) & bits;
	/* of a page that was evicted and came again the later fill is this access's */
	if ((entry->evicted & bits & ~taken) && entry->evicted_at > began)
		aside = __sync_fetch_and_and(&entry->evicted, ~bits | taken) & bits & ~taken;
	if (bpf_map_lookup_elem(&ledger, &key) != entry) {
		__sync_fetch_and_or(&entry->mask, taken);
		__sync_fetch_and_or(&entry->evicted, aside);
		return 0;
	}
	if (aside)
		__sync_fetch_and_add(&state.set_aside, -count_bits(aside));
	return count_bits(taken | aside);
}

/*
 * Evicts BITS of the group, which go into the second mask; returns how many are gone for
 * good: set aside before, and not accessed since. They are in the one before they leave the
 * other, so that whoever accesses them finds them.
 */
__noinline __u64
group_evict(__u64 mapping, __u64 group, __u64 bits)
{
	struct ledger_key key = { mapping, group };
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, &key);
	__u64 taken, before;

	if (!entry || !(bits &= entry->mask))
		return 0;
	entry->evicted_at = __sync_fetch_and_add(&state.evictions, 1) + 1;
	before = __sync_fetch_and_or(&entry->evicted, bits);
	taken = __sync_fetch_and_and(&entry->mask, ~bits) & bits;
	/* what somebody has accessed meanwhile */
	if (bits & ~taken & ~before)
		__sync_fetch_and_and(&entry->evicted, taken | before | ~bits);
	if (bpf_map_lookup_elem(&ledger, &key) != entry) {
		__sync_fetch_and_and(&entry->evicted, before | ~bits);
		__sync_fetch_and_or(&entry->mask, taken);
		return 0;
	}
	__sync_fetch_and_add(&state.set_aside, count_bits(taken & ~before));
	return count_bits(taken & before);
}

/* Takes what was set aside in the group until eviction UPTO; returns how many pages. */
static inline __u64
group_forget(const struct ledger_key *key, __u64 upto)
{
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, key);
	__u64 pages;

	if (!entry || !entry->evicted || entry->evicted_at > upto)
		return 0;
	pages = count_bits(__sync_lock_test_and_set(&entry->evicted, 0));
	__sync_fetch_and_add(&state.set_aside, -pages);
	return pages;
}

/* Deletes an entry without bits: whoever puts one in after the mark sees the mark. */
static inline void
group_delete_empty(const struct ledger_key *key)
{
	struct ledger_entry *entry = bpf_map_lookup_elem(&ledger, key);

	if (!entry || entry->mask || entry->evicted)
		return;
	__sync_lock_test_and_set(&entry->dead, 1);
	if (*(volatile __u64 *)&entry->mask || *(volatile __u64 *)&entry->evicted) {
		__sync_lock_test_and_set(&entry->dead, 0);
		return;
	}
	if (bpf_map_delete_elem(&ledger, key) == 0)
		__sync_fetch_and_add(&state.ledger_entries, -1);
	else
		__sync_lock_test_and_set(&entry->dead, 0);
}

#endif
