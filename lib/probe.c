/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descend.h"
#include "hooks.h"
#include "look.h"
#include "permits.h"
#include "sets.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define LOOKS    10 /* at figures that may go on meanwhile */

/* How one tier is named, and why it may be refused. */
static const struct {
	enum probe_tier tier;
	const char *name, *means;
} tiers[HOOK_TIERS] = {
	[HOOK_FULL] = { PROBE_FULL, "full", "fentry and fexit" },
	[HOOK_KPROBE] = { PROBE_KPROBE, "kprobe", "kprobes" },
	[HOOK_TRACED] = { PROBE_TRACEPOINT, "tracepoint", "tracepoints" },
};

struct probe {
	struct sets sets;
	struct look look;
	struct missed {
		uint64_t events, mended; /* of those that the first set was not shown */
	} before;                        /* probe_start */
	int processors;
};

static void
unload(struct probe *probe)
{
	look_end(&probe->look);
	sets_unload(&probe->sets);
}

static int
load(struct probe *probe, enum hook_tier tier, bool target, struct reason *reason)
{
	if (sets_load(&probe->sets, tier, target, reason) < 0 ||
	    look_begin(&probe->look, &probe->sets, reason) < 0)
		return -1;
	return sets_attach(&probe->sets, reason);
}

/* Loads the first of the tiers that the kernel allows, or WANTED only. Where all are
 * refused each has its reason. */
static int
load_first(struct probe *probe, enum probe_tier wanted, bool target, struct reason *reason)
{
	struct reason each = { 0 };

	if (!permits_programs(reason))
		return -1;
	for (int tier = 0; tier < HOOK_TIERS; tier++) {
		if (wanted != PROBE_ANY && wanted != tiers[tier].tier)
			continue;
		if (permits_tier((enum hook_tier)tier, &each) &&
		    load(probe, (enum hook_tier)tier, target, &each) == 0) {
			reason_free(&each);
			return 0;
		}
		unload(probe);
		if (wanted != PROBE_ANY)
			reason_set(reason, "%s", reason_text(&each));
		else
			reason_add(reason, "%s%s: %s", reason->text ? "; " : "", tiers[tier].means,
			    reason_text(&each));
	}
	reason_free(&each);
	return -1;
}

struct probe *
probe_open(enum probe_tier tier, bool target, struct reason *reason)
{
	struct probe *probe;

	if (target && !permits_pids()) {
		reason_set(reason,
		    "process numbers here are a container's own: run hitratio in the "
		    "host's pid namespace to follow a process");
		return NULL;
	}
	if (access(BTF_PATH, R_OK) < 0) {
		reason_set(reason,
		    "%s: %s (the kernel needs CONFIG_DEBUG_INFO_BTF, and /sys must be mounted)",
		    BTF_PATH, strerror(errno));
		return NULL;
	}
	reason_keep_complaints();
	probe = calloc(1, sizeof *probe);
	if (!probe) {
		reason_set(reason, "%s", strerror(errno));
		return NULL;
	}
	probe->processors = libbpf_num_possible_cpus();
	if (probe->processors < 0) {
		reason_set(reason, "cannot count processors: %s", strerror(-probe->processors));
		probe_close(probe);
		return NULL;
	}
	if (load_first(probe, tier, target, reason) < 0) {
		probe_close(probe);
		return NULL;
	}
	return probe;
}

void
probe_close(struct probe *probe)
{
	if (!probe)
		return;
	unload(probe);
	free(probe);
}

static int
add_target(pid_t pid, void *argument)
{
	const struct probe *probe = argument;
	__u32 key = (__u32)pid;
	__u8 yes = 1;

	return bpf_map_update_elem(sets_map(&probe->sets, "targets"), &key, &yes, BPF_ANY);
}

int
probe_target(struct probe *probe, pid_t pid)
{
	/* the fork program is attached: what is started from here on adds itself */
	return descend(pid, add_target, probe);
}

/* Two sets that miss events for different reasons hardly ever miss the same. */
static bool
is_mixed(const struct probe *probe)
{
	return probe->sets.hooks[1].tier == HOOK_MIXED;
}

/* Both of one moment, as far as they stand still: an event may be mended between two looks,
 * and is then told rather than that one too few is. */
static struct missed
missed(const struct probe *probe)
{
	const volatile __u64 *mended = &probe->sets.state->mended;
	struct missed now;
	int looks = 0;

	do {
		now.mended = *mended;
		now.events = hooks_missed(probe->sets.hooks, false);
		if (!is_mixed(probe))
			now.events += hooks_missed(probe->sets.hooks, true);
	} while (now.mended != *mended && ++looks < LOOKS);
	return now;
}

void
probe_start(struct probe *probe)
{
	probe->before = missed(probe);
	__atomic_store_n(&probe->sets.state->counting, 1, __ATOMIC_SEQ_CST);
}

static int
look_and_sweep(struct probe *probe)
{
	struct state *state = probe->sets.state;

	state->settled = __atomic_load_n(&state->evictions, __ATOMIC_SEQ_CST);
	__atomic_store_n(&state->looks, state->looks + 1, __ATOMIC_SEQ_CST);
	if (look_at_tasks(&probe->look, &probe->sets) < 0)
		return -1;
	return look_over_ledger(&probe->look, &probe->sets);
}

int
probe_settle(struct probe *probe)
{
	return probe->sets.state->set_aside ? look_and_sweep(probe)
					    : look_at_tasks(&probe->look, &probe->sets);
}

void
probe_tidy(struct probe *probe)
{
	struct state *state = probe->sets.state;

	state->make_room = state->ledger_entries > probe->sets.ledger_size / 2;
	if (state->make_room || state->set_aside)
		look_and_sweep(probe);
}

int
probe_sums(struct probe *probe, enum scope scope, struct counters *sums)
{
	struct counters *each = calloc((size_t)probe->processors, sizeof *each);
	__u32 key = scope;
	int failed;

	if (!each)
		return -1;
	failed = bpf_map_lookup_elem(sets_map(&probe->sets, "sums"), &key, each);
	memset(sums, 0, sizeof *sums);
	for (int i = 0; !failed && i < probe->processors; i++)
		for (int counter = 0; counter < COUNTERS; counter++)
			sums->of[counter] += each[i].of[counter];
	free(each);
	return failed ? -1 : 0;
}

uint64_t
probe_pending(const struct probe *probe)
{
	const volatile __u32 *pending = probe->sets.state->pending;
	uint64_t pages = 0;

	for (int i = 0; i < HINTS; i++)
		pages += pending[i];
	return pages;
}

uint64_t
probe_missed(const struct probe *probe)
{
	struct missed now = missed(probe);
	uint64_t events = now.events - probe->before.events;
	uint64_t mended = now.mended - probe->before.mended;

	/* more where one from before was mended only after */
	return events > mended ? events - mended : 0;
}

uint64_t
probe_doubtful(const struct probe *probe)
{
	return is_mixed(probe) ? hooks_missed(probe->sets.hooks, true) : 0;
}

bool
probe_counts(const struct probe *probe, enum counter counter)
{
	return counter != STALLS || probe->sets.hooks[0].tier != HOOK_TRACED;
}

bool
probe_shows_ends(const struct probe *probe)
{
	return probe->sets.hooks[0].tier != HOOK_TRACED;
}

const char *
probe_tier(const struct probe *probe)
{
	return tiers[probe->sets.hooks[0].tier].name;
}

int
probe_describe(const struct probe *probe, char *text, size_t size)
{
	return snprintf(text, size, "exact: %s tier (%s), reads by %s", probe_tier(probe),
	    tiers[probe->sets.hooks[0].tier].means, hooks_point(&probe->sets.hooks[0], ROLE_READ));
}

const char *
probe_role(const struct probe *probe, int role, const char **point)
{
	if (role >= ROLES)
		return NULL;
	*point = hooks_point(&probe->sets.hooks[0], (enum hook_role)role);
	return hooks_role((enum hook_role)role);
}
