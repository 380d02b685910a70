/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HOOKS_H
#define HOTSET_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* Where programs are attached: bpf/hooks.def, and what of it the running kernel has. */
struct bpf_object;
struct bpf_link;

enum hook_tier {
	HOOK_FULL,
	HOOK_KPROBE,
	HOOK_TRACED,
	HOOK_TIERS,
	HOOK_MIXED = HOOK_TIERS, /* beside the full tier: see below */
};

enum hook_role {
	ROLE_READ,
	ROLE_SPLICE,
	ROLE_INSERT,
	ROLE_PRELOAD,
	ROLE_FAULT,
	ROLE_MAP,
	ROLE_MAP_HUGE,
	ROLE_EVICT,
	ROLE_DIRTY,
	ROLE_URING,
	ROLE_WORK,
	ROLE_FORK,
	ROLE_EXIT,
	ROLE_FREE,
	ROLES,
};

struct hook;

/* Of programs, at most: those at tracepoints where these may be put aside (7.0). Each one
 * more costs a read of a cached page 70 ns, and the start as many ms; of 64 readers on two
 * processors events went unseen with four now and then, with six no more. */
#define HOOK_SETS 6

/* The choice for an object, and what is attached of it. */
struct hooks {
	struct bpf_object *object;
	enum hook_tier tier;
	const struct hook *chosen[ROLES];  /* NULL: the role is not needed, or not there */
	struct bpf_link *links[2 * ROLES]; /* at the start and the end of each */
};

enum hooks_use {
	HOOKS_TARGETS = 1, /* processes are followed: some roles are there only for that */
	HOOKS_FUNCTIONS = 2,
	HOOKS_TRACEPOINTS = 4,
	HOOKS_RECOVERY = 8, /* ends of calls may go unseen */
};

/*
 * Chooses a point for each role of TIER that OBJECT, not loaded yet, has a program for, and
 * marks its programs to be loaded, and no others. HOOK_MIXED takes kprobes, which the kernel
 * never preempts, but where it has too few kretprobes (before 7.2) not for the ends of
 * functions that wait. -1 with the errno and *MISSING, the role that has none: EOPNOTSUPP
 * where the kernel has no such point.
 */
int hooks_choose(struct hooks *hooks, struct bpf_object *object, enum hook_tier tier, unsigned use,
    enum hook_role *missing);

/* Attaches what was chosen, once OBJECT is loaded; -1 with errno and *FAILED. */
int hooks_attach(struct hooks *hooks, enum hook_role *failed);

/* Detaches everything. */
void hooks_detach(struct hooks *hooks);

/* Events at FUNCTIONS, or at tracepoints, that the kernel did not show a program, since another
 * of the kind was at work on that processor. Of functions that several SETS look at, those that
 * none saw, at most; of tracepoints, whose programs say what they have mended, all that the
 * first set did not see. */
uint64_t hooks_missed(const struct hooks sets[HOOK_SETS], bool functions);

/* What a role is, for people. */
const char *hooks_role(enum hook_role role);

/* The point that was chosen for ROLE, NULL: none. */
const char *hooks_point(const struct hooks *hooks, enum hook_role role);

/* The newest kernels' name of a point for ROLE in TIER, NULL: none. */
const char *hooks_newest(enum hook_role role, enum hook_tier tier);

/* Whether the points of ROLE in TIER are tracepoints rather than functions. */
bool hooks_is_tracepoint(enum hook_role role, enum hook_tier tier);

#endif
