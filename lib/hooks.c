/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

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
	bool targets;    /* needed only to follow processes */
} roles[ROLES] = {
	[ROLE_READ] = { "read", ALL, false },
	[ROLE_SPLICE] = { "splice", 0, false }, /* before 6.5 it is a read */
	[ROLE_INSERT] = { "insert", ALL, false },
	[ROLE_PRELOAD] = { "preload", FULL | KPROBE, false },
	[ROLE_FAULT] = { "fault", ALL, false },
	[ROLE_MAP] = { "map", ALL, false },
	[ROLE_EVICT] = { "evict", ALL, false },
	[ROLE_DIRTY] = { "dirty", ALL, false },
	[ROLE_URING] = { "io_uring", 0, false }, /* a kernel may be built without */
	[ROLE_FORK] = { "fork", ALL, true },
	[ROLE_EXIT] = { "exit", ALL, false },
	[ROLE_FREE] = { "free", ALL, true },
};

static const struct hook {
	enum hook_role role;
	unsigned tiers;
	bool is_function;
	const char *point;
	const char *programs[HOOK_TIERS][SIDES]; /* NULL or "": none */
} hooks_known[] = {
#define FUNCTION(role, point, fentry, fexit, kprobe, kretprobe)               \
	{ ROLE_##role, FULL | KPROBE, true, point,                            \
	    { [HOOK_FULL] = { #fentry, #fexit }, [HOOK_KPROBE] = { #kprobe, #kretprobe } } },
#define TRACEPOINT(role, tiers, point, program)                               \
	{ ROLE_##role, tiers, false, point,                                   \
	    { { #program, "" }, { #program, "" }, { #program, "" } } },
#include "hooks.def"
#undef FUNCTION
#undef TRACEPOINT
};
#define HOOKS (sizeof hooks_known / sizeof *hooks_known)

static bool
has_program(const struct hook *hook, enum hook_tier tier, int side)
{
	return hook->programs[tier][side] && hook->programs[tier][side][0];
}

static struct bpf_program *
program_of(const struct hooks *hooks, const struct hook *hook, enum hook_tier tier, int side)
{
	if (!has_program(hook, tier, side))
		return NULL;
	return bpf_object__find_program_by_name(hooks->object, hook->programs[tier][side]);
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
		error = aim(program_of(hooks, hook, HOOK_FULL, END), hook->point);
	for (int side = START; side < SIDES && !error; side++) {
		struct bpf_program *program = program_of(hooks, hook, hooks->tier, side);

		if (!program && has_program(hook, hooks->tier, side))
			return ESRCH;
		if (program && hooks->tier != HOOK_KPROBE)
			error = aim(program, hook->point);
		else if (program && !hook->is_function)
			error = aim(program, hook->point);
	}
	for (int side = START; side < SIDES && !error; side++) {
		struct bpf_program *program = program_of(hooks, hook, hooks->tier, side);

		if (program)
			bpf_program__set_autoload(program, true);
	}
	return error;
}

static int
choose(struct hooks *hooks, enum hook_role role)
{
	int error = ESRCH;

	for (const struct hook *hook = hooks_known; hook < hooks_known + HOOKS; hook++) {
		if (hook->role != role || !(hook->tiers & 1U << hooks->tier))
			continue;
		error = take(hooks, hook);
		if (!error)
			hooks->chosen[role] = hook;
		if (error != ESRCH)
			break;
	}
	return error;
}

/* Of the programs that have points. */
static void
load_none(const struct hooks *hooks)
{
	for (const struct hook *hook = hooks_known; hook < hooks_known + HOOKS; hook++)
		for (int i = 0; i < HOOK_TIERS * SIDES; i++) {
			struct bpf_program *program =
			    program_of(hooks, hook, (enum hook_tier)(i / SIDES), i % SIDES);

			if (program)
				bpf_program__set_autoload(program, false);
		}
}

int
hooks_choose(struct hooks *hooks, struct bpf_object *object, enum hook_tier tier, bool target,
    enum hook_role *missing)
{
	*hooks = (struct hooks){ .object = object, .tier = tier };
	load_none(hooks);
	for (int role = 0; role < ROLES; role++) {
		int error;

		if (roles[role].targets && !target)
			continue;
		error = choose(hooks, (enum hook_role)role);
		if (!error || (error == ESRCH && !(roles[role].needed & 1U << tier)))
			continue;
		*missing = (enum hook_role)role;
		errno = error == ESRCH ? EOPNOTSUPP : error;
		return -1;
	}
	return 0;
}

static struct bpf_link *
attach(const struct hooks *hooks, const struct hook *hook, int side, struct bpf_program *program)
{
	if (hook->is_function && hooks->tier == HOOK_KPROBE)
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
		hooks->links[i] = attach(hooks, hook, side, program);
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

uint64_t
hooks_missed(const struct hooks *hooks)
{
	uint64_t missed = 0;

	for (int i = 0; i < 2 * ROLES; i++) {
		const struct hook *hook = hooks->chosen[i / 2];
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof info;
		struct bpf_program *program;

		if (!hook || !(program = program_of(hooks, hook, hooks->tier, i % 2)))
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
			missed += info.recursion_misses;
	}
	return missed;
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

static const struct hook *
newest(enum hook_role role, enum hook_tier tier)
{
	for (const struct hook *hook = hooks_known; hook < hooks_known + HOOKS; hook++)
		if (hook->role == role && hook->tiers & 1U << tier)
			return hook;
	return NULL;
}

const char *
hooks_newest(enum hook_role role, enum hook_tier tier)
{
	const struct hook *hook = newest(role, tier);

	return hook ? hook->point : NULL;
}

bool
hooks_is_tracepoint(enum hook_role role, enum hook_tier tier)
{
	const struct hook *hook = newest(role, tier);

	return hook && !hook->is_function;
}
