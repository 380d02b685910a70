/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SUMS_H
#define HOTSET_SUMS_H

/* What is counted, for everybody and for the processes that were asked about. */
#include "kernel.h"
#include "shared.h"

struct state state;
const volatile struct settings settings;

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

static inline void
add(__u32 scope, __u32 counter, __u64 pages)
{
	struct counters *counters = bpf_map_lookup_elem(&sums, &scope);

	if (counters && counter < COUNTERS)
		__sync_fetch_and_add(&counters->of[counter], pages);
}

/* Adds PAGES to everybody's sum and, for a task that was asked about, to the target's. A
 * global function: one copy of its code, and the verifier looks at it once. */
__noinline int
count(__u32 counter, __u64 pages, bool target)
{
	if (!pages)
		return 0;
	add(SCOPE_ALL, counter, pages);
	if (target)
		add(SCOPE_TARGET, counter, pages);
	return 0;
}

static inline bool
is_target(__u32 tgid)
{
	return state.has_target && bpf_map_lookup_elem(&targets, &tgid);
}

#endif
