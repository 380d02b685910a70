/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "num.h"
#include "vmlinux.h"

enum { START, END, SIDES };

enum {
	FULL = 1 << HOOK_FULL,
	KPROBE = 1 << HOOK_KPROBE,
	TRACED = 1 << HOOK_TRACED,
	ALL = FULL | KPROBE | TRACED,
};

static const struct {
	const char *name;
	unsigned needed; /* by these tiers; others can do without, or have no use for it */
	unsigned only;   /* with one of these uses; 0: always */
} roles[ROLES] = {
	[ROLE_READ] = { .name = "read", .needed = ALL },
	[ROLE_SPLICE] = { .name = "splice" }, /* before 6.5 it is a read */
	[ROLE_INSERT] = { .name = "insert", .needed = ALL },
	[ROLE_PRELOAD] = { .name = "preload", .needed = FULL | KPROBE },
	[ROLE_FAULT] = { .name = "fault", .needed = ALL },
	[ROLE_MAP] = { .name = "map", .needed = ALL },
	[ROLE_MAP_HUGE] = { .name = "map huge" }, /* a function of its own from 5.14 */
	[ROLE_EVICT] = { .name = "evict", .needed = ALL },
	[ROLE_DIRTY] = { .name = "dirty", .needed = ALL },
	[ROLE_URING] = { .name = "io_uring" }, /* a kernel may be built without */
	[ROLE_WORK] = { .name = "io_uring worker", .only = HOOKS_RECOVERY },
	[ROLE_FORK] = { .name = "fork", .needed = ALL, .only = HOOKS_TARGETS },
	[ROLE_EXIT] = { .name = "exit", .needed = ALL },
	[ROLE_FREE] = { .name = "free", .needed = ALL, .only = HOOKS_TARGETS },
};

static const struct hook {
	enum hook_role role;
	unsigned tiers;
	bool is_function;
	const char *point;
	const char *programs[HOOK_TIERS][SIDES]; /* NULL or "": none */
} hooks_known[] = {
#define FUNCTION(role, point, fentry, fexit, kprobe, kretprobe)                                    \
	{ ROLE_##role, FULL | KPROBE, true, point,                                                 \
		{ [HOOK_FULL] = { #fentry, #fexit }, [HOOK_KPROBE] = { #kprobe, #kretprobe } } },
#define TRACEPOINT(role, tiers, point, program)                                                    \
	{ ROLE_##role, tiers, false, point,                                                        \
		{ { #program, "" }, { #program, "" }, { #program, "" } } },
#include "hooks.def"
#undef FUNCTION
#undef TRACEPOINT
};
#define HOOKS (sizeof hooks_known / sizeof *hooks_known)

/* Whether the kernel's release is MAJOR.MINOR or later. */
static bool
is_since(unsigned long major, unsigned long minor)
{
	struct utsname kernel;
	unsigned long this;
	char *end;

	if (uname(&kernel) < 0)
		return false;
	this = strtoul(kernel.release, &end, 10);
	return this > major ||
	    (this == major && *end == '.' && strtoul(end + 1, NULL, 10) >= minor);
}

/*
 * Whether the ends of any number of calls can be seen by kprobes: a kretprobe sees those of
 * as many as there are processors, or of 10, that wait at once, but what is made for many
 * functions (CONFIG_FPROBE) is kept on each task's own stack of returns, since Linux 6.14.
 * Before 6.17 its programs may be put aside, and before 7.2 to attach one beside calls that
 * go on may crash the kernel (367c49d6e283).
 */
static bool
returns_are_stacked(void)
{
	static int answer = -1;

	if (answer < 0)
		answer = is_since(7, 2) && vmlinux_has("fprobe_fgraph_entry", BTF_KIND_FUNC);
	return answer;
}

/* What has something to do as it starts does so since it may wait. */
static bool
may_wait(const struct hook *hook)
{
	return hook->programs[HOOK_FULL][START][0];
}

static const char *
program_name(const struct hook *hook, enum hook_tier tier, int side)
{
	const char *name;

	if (tier == HOOK_MIXED && !hook->is_function)
		tier = HOOK_FULL;
	if (tier == HOOK_MIXED)
		tier = side == END && may_wait(hook) && !returns_are_stacked() ? HOOK_FULL
									       : HOOK_KPROBE;
	name = hook->programs[tier][side];
	return name && name[0] ? name : NULL;
}

static struct bpf_program *
program_of(const struct hooks *hooks, const struct hook *hook, enum hook_tier tier, int side)
{
	const char *name = program_name(hook, tier, side);

	return name ? bpf_object__find_program_by_name(hooks->object, name) : NULL;
}

static bool
is_kprobe(const struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_KPROBE;
}

/* Sets the point that PROGRAM will be loaded for; an errno where the kernel lacks it. */
static int
aim(struct bpf_program *program, const char *point)
{
	int error = program ? bpf_program__set_attach_target(program, 0, point) : -ESRCH;

	return error == -ENOENT ? ESRCH : -error;
}

/* Takes HOOK if the kernel has its point and the object its programs; an errno, ESRCH
 * where not. */
static int
take(struct hooks *hooks, const struct hook *hook)
{
	int error = 0;

	/* a kprobe's point is not looked up, but the trampoline's at the same function is */
	if (hook->is_function)
		error = aim(program_of(hooks, hook, HOOK_FULL,
				program_name(hook, HOOK_FULL, END) ? END : START),
		    hook->point);
	for (int side = START; side < SIDES && !error; side++) {
		struct bpf_program *program = program_of(hooks, hook, hooks->tier, side);

		if (!program && program_name(hook, hooks->tier, side))
			return ESRCH;
		if (program && !is_kprobe(program))
			error = aim(program, hook->point);
	}
	for (int side = START; side < SIDES && !error; side++) {
		struct bpf_program *program = program_of(hooks, hook, hooks->tier, side);

		if (!program)
			continue;
		bpf_program__set_autoload(program, true);
		if (side == END && is_kprobe(program) && returns_are_stacked())
			bpf_program__set_expected_attach_type(program, BPF_TRACE_KPROBE_MULTI);
	}
	return error;
}

static unsigned
tier_bit(enum hook_tier tier)
{
	return 1U << (tier == HOOK_MIXED ? HOOK_FULL : tier);
}

static int
choose(struct hooks *hooks, enum hook_role role)
{
	int error = ESRCH;

	for (const struct hook *hook = hooks_known; hook < hooks_known + HOOKS; hook++) {
		if (hook->role != role || !(hook->tiers & tier_bit(hooks->tier)))
			continue;
		error = take(hooks, hook);
		if (!error)
			hooks->chosen[role] = hook;
		if (error != ESRCH)
			break;
	}
	return error;
}

static const struct hook *
newest(enum hook_role role, enum hook_tier tier)
{
	for (const struct hook *hook = hooks_known; hook < hooks_known + HOOKS; hook++)
		if (hook->role == role && hook->tiers & tier_bit(tier))
			return hook;
	return NULL;
}

bool
hooks_is_tracepoint(enum hook_role role, enum hook_tier tier)
{
	const struct hook *hook = newest(role, tier);

	return hook && !hook->is_function;
}

static bool
is_used(enum hook_role role, enum hook_tier tier, unsigned use)
{
	if (roles[role].only && !(roles[role].only & use))
		return false;
	return use & (hooks_is_tracepoint(role, tier) ? HOOKS_TRACEPOINTS : HOOKS_FUNCTIONS);
}

/* Of all programs. */
static void
load_none(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object)
		bpf_program__set_autoload(program, false);
}

int
hooks_choose(struct hooks *hooks, struct bpf_object *object, enum hook_tier tier, unsigned use,
    enum hook_role *missing)
{
	*hooks = (struct hooks){ .object = object, .tier = tier };
	load_none(object);
	for (int role = 0; role < ROLES; role++) {
		int error;

		if (!is_used((enum hook_role)role, tier, use))
			continue;
		error = choose(hooks, (enum hook_role)role);
		if (!error || (error == ESRCH && !(roles[role].needed & tier_bit(tier))))
			continue;
		*missing = (enum hook_role)role;
		errno = error == ESRCH ? EOPNOTSUPP : error;
		return -1;
	}
	return 0;
}

static struct bpf_link *
attach(const struct hook *hook, int side, struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, returns, .cnt = 1, .retprobe = true);
	const char *names[] = { hook->point };

	returns.syms = names;
	if (bpf_program__expected_attach_type(program) == BPF_TRACE_KPROBE_MULTI)
		return bpf_program__attach_kprobe_multi_opts(program, NULL, &returns);
	if (is_kprobe(program))
		return bpf_program__attach_kprobe(program, side == END, hook->point);
	return bpf_program__attach_trace(program);
}

/* Ends go first: the start of what has no end would be remembered for nothing. */
int
hooks_attach(struct hooks *hooks, enum hook_role *failed)
{
	for (int i = 0; i < 2 * ROLES; i++) {
		int side = i < ROLES ? END : START;
		const struct hook *hook = hooks->chosen[i % ROLES];
		struct bpf_program *program;

		if (!hook || !(program = program_of(hooks, hook, hooks->tier, side)))
			continue;
		hooks->links[i] = attach(hook, side, program);
		if (!hooks->links[i]) {
			*failed = (enum hook_role)(i % ROLES);
			return -1;
		}
	}
	return 0;
}

void
hooks_detach(struct hooks *hooks)
{
	/* starts before ends */
	for (int i = 2 * ROLES - 1; i >= 0; i--) {
		bpf_link__destroy(hooks->links[i]);
		hooks->links[i] = NULL;
	}
}

/* What the kernel did not show the program of ROLE at SIDE. */
static uint64_t
missed_by(const struct hooks *hooks, enum hook_role role, int side)
{
	const struct hook *hook = hooks->chosen[role];
	struct bpf_program *program = hook ? program_of(hooks, hook, hooks->tier, side) : NULL;
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof info;

	if (!program || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0)
		return 0;
	return info.recursion_misses;
}

static uint64_t
missed(const struct hooks sets[HOOK_SETS], enum hook_role role, int side)
{
	const struct hook *hook = sets[0].chosen[role];
	uint64_t events = missed_by(&sets[0], role, side);

	if (!hook || !hook->is_function)
		return events;
	for (int set = 1; set < HOOK_SETS && sets[set].chosen[role]; set++)
		events = num_least(events, missed_by(&sets[set], role, side));
	return events;
}

uint64_t
hooks_missed(const struct hooks sets[HOOK_SETS], bool functions)
{
	uint64_t sum = 0;

	for (int i = 0; i < ROLES; i++) {
		enum hook_role role = (enum hook_role)i;
		const struct hook *hook = sets[0].chosen[role];
		uint64_t start = missed(sets, role, START), end = missed(sets, role, END);

		if (!hook || hook->is_function != functions)
			continue;
		/* of a read that two sets look at either side will do: see bpf/reading.h */
		if (functions && sets[1].chosen[role] && (role == ROLE_READ || role == ROLE_SPLICE))
			sum += num_least(start, end);
		else
			sum += start + end;
	}
	return sum;
}

const char *
hooks_role(enum hook_role role)
{
	return roles[role].name;
}

const char *
hooks_point(const struct hooks *hooks, enum hook_role role)
{
	return hooks->chosen[role] ? hooks->chosen[role]->point : NULL;
}

const char *
hooks_newest(enum hook_role role, enum hook_tier tier)
{
	const struct hook *hook = newest(role, tier);

	return hook ? hook->point : NULL;
}
