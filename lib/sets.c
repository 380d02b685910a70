/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sets.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meminfo.h"
#include "permits.h"

/* Entries of 64 pages, about 90 bytes each: what is filled and not yet accessed can
 * be as much as the machine's memory, but never is. */
#define LEDGER_LEAST (1U << 14)
#define LEDGER_MOST  (1U << 18)

/* Why TIER cannot be had: what its role ROLE lacks. */
static void
explain_missing(struct reason *reason, enum hook_role role, enum hook_tier tier)
{
	const char *point = hooks_newest(role, tier);

	if (errno != EOPNOTSUPP)
		reason_set(reason, "cannot look up what the kernel has: %s", strerror(errno));
	else if (hooks_is_tracepoint(role, tier))
		reason_set(reason,
		    "this kernel has no tracepoint %s to count %s events by: Linux 6.12 and "
		    "later have them all",
		    point, hooks_role(role));
	else
		reason_set(reason, "this kernel has no function %s to count %s events by", point,
		    hooks_role(role));
}

static void
set_entries(const struct sets *sets, const char *map, unsigned entries)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(sets->hooks[0].object, map), entries);
}

static void
size_maps(struct sets *sets)
{
	struct meminfo memory;
	uint64_t entries = LEDGER_LEAST;

	if (meminfo_read(MEMINFO_PATH, &memory) == 0 && memory.total != MEMINFO_UNKNOWN)
		entries = memory.total / (uint64_t)sysconf(_SC_PAGESIZE) / 64;
	if (entries < LEDGER_LEAST)
		entries = LEDGER_LEAST;
	if (entries > LEDGER_MOST)
		entries = LEDGER_MOST;
	sets->ledger_size = (unsigned)entries;
	set_entries(sets, "ledger", sets->ledger_size);
	if (!sets->settings.listed)
		set_entries(sets, "listed", 1);
}

int
sets_map(const struct sets *sets, const char *name)
{
	return bpf_object__find_map_fd_by_name(sets->hooks[0].object, name);
}

struct bpf_program *
sets_program(const struct sets *sets, const char *name)
{
	return bpf_object__find_program_by_name(sets->hooks[0].object, name);
}

int
sets_attach(struct sets *sets, struct reason *reason)
{
	for (int set = 0; set < HOOK_SETS; set++) {
		enum hook_role failed;

		if (hooks_attach(&sets->hooks[set], &failed) == 0)
			continue;
		reason_set(reason, "cannot attach to %s: %s",
		    hooks_point(&sets->hooks[set], failed), strerror(errno));
		return -1;
	}
	return 0;
}

static int
map_state(struct sets *sets, struct reason *reason)
{
	void *state = mmap(NULL, sizeof *sets->state, PROT_READ | PROT_WRITE, MAP_SHARED,
	    sets_map(sets, ".bss"), 0);

	if (state == MAP_FAILED) {
		reason_set(reason, "cannot map the programs' variables: %s", strerror(errno));
		return -1;
	}
	sets->state = state;
	return 0;
}

void
sets_unload(struct sets *sets)
{
	for (int set = 0; set < HOOK_SETS; set++) {
		hooks_detach(&sets->hooks[set]);
		bpf_object__close(sets->hooks[set].object);
	}
	if (sets->state)
		munmap(sets->state, sizeof *sets->state);
	*sets = (struct sets){ 0 };
}

/* Opens the object for this kernel, and chooses its points of TIER. */
static int
open_object(struct sets *sets, enum hook_tier tier, bool target, struct reason *reason)
{
	unsigned use = HOOKS_FUNCTIONS | HOOKS_TRACEPOINTS | (target ? HOOKS_TARGETS : 0) |
	    (sets->settings.recovers ? HOOKS_RECOVERY : 0);
	enum hook_role missing;

	for (int which = 0; which < PROGRAMS; which++) {
		struct bpf_object *object = programs_open((enum programs)which);

		if (!object) {
			reason_set(reason, "cannot open the BPF programs: %s", strerror(errno));
			return -1;
		}
		if (hooks_choose(&sets->hooks[0], object, tier, use, &missing) == 0) {
			sets->which = (enum programs)which;
			return 0;
		}
		/* the first complaint is of the newer kernels' object, and tells more */
		if (which == 0 || errno != EOPNOTSUPP)
			explain_missing(reason, missing, tier);
		bpf_object__close(object);
		sets->hooks[0] = (struct hooks){ 0 };
	}
	return -1;
}

static int
set_constants(struct bpf_object *object, const struct settings *settings)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	int error = bpf_map__set_initial_value(map, settings, sizeof *settings);

	errno = -error;
	return error ? -1 : 0;
}

static void
load_too(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (program)
		bpf_program__set_autoload(program, true);
}

/* How many sets of programs there are. At tracepoints less is going on where functions tell of
 * reads: three will do there. */
static int
sets_wanted(const struct sets *sets)
{
	if (sets->settings.turn)
		return sets->hooks[0].tier == HOOK_TRACED ? HOOK_SETS : 3;
	return sets->settings.twice ? 2 : 1;
}

/* Has OBJECT use the maps of the first set, but for the constants. */
static int
share_maps(const struct sets *sets, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		int error = strstr(name, ".rodata") ? 0
						    : bpf_map__reuse_fd(map, sets_map(sets, name));

		errno = -error;
		if (error)
			return -1;
	}
	return 0;
}

/* Loads the same programs once more, as SET: see full.h and was_seen in reader.h. */
static int
load_again(struct sets *sets, int set, bool target, struct reason *reason)
{
	enum hook_tier tier = sets->hooks[0].tier;
	struct settings settings = sets->settings;
	unsigned use = (target ? HOOKS_TARGETS : 0) |
	    (settings.twice && set == 1 ? HOOKS_FUNCTIONS : 0) |
	    (settings.turn ? HOOKS_TRACEPOINTS : 0) | (settings.recovers ? HOOKS_RECOVERY : 0);
	struct bpf_object *object = programs_open(sets->which);
	enum hook_role missing;
	int error;

	sets->hooks[set].object = object;
	settings.second = settings.twice;
	settings.turn *= set + 1;
	settings.last = set + 1 == sets_wanted(sets);
	if (tier == HOOK_FULL && permits_kprobes())
		tier = HOOK_MIXED;
	if (!object || set_constants(object, &settings) < 0 || share_maps(sets, object) < 0 ||
	    hooks_choose(&sets->hooks[set], object, tier, use, &missing) < 0) {
		reason_set(reason, "cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	error = bpf_object__load(object);
	if (error < 0)
		reason_refused(reason, -error);
	return error;
}

int
sets_load(struct sets *sets, enum hook_tier tier, bool target, struct reason *reason)
{
	bool preempts = permits_preemption(), twice = preempts && tier == HOOK_FULL;
	int error;

	sets->settings = (struct settings){
		.twice = twice,
		.patient = !preempts,
		.recovers = twice || tier == HOOK_KPROBE,
		.turn = permits_preemption_traced(),
	};
	if (open_object(sets, tier, target, reason) < 0)
		return -1;
	sets->settings.listed = sets->which == PROGRAMS_PAGES || (twice && !permits_storage());
	if (twice && sets->which == PROGRAMS_PAGES) {
		reason_set(reason, "this kernel may preempt a program that holds a lock");
		return -1;
	}
	if (set_constants(sets->hooks[0].object, &sets->settings) < 0) {
		reason_set(reason, "cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	size_maps(sets);
	load_too(sets->hooks[0].object, "look");
	load_too(sets->hooks[0].object, "sweep");
	if (tier == HOOK_TRACED)
		load_too(sets->hooks[0].object, "look_at_seats");
	error = bpf_object__load(sets->hooks[0].object);
	if (error < 0) {
		reason_refused(reason, -error);
		return -1;
	}
	if (map_state(sets, reason) < 0)
		return -1;
	sets->state->has_target = target;
	for (int set = 1; set < sets_wanted(sets); set++)
		if (load_again(sets, set, target, reason) < 0)
			return -1;
	return 0;
}
