/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "descend.h"
#include "hooks.h"
#include "meminfo.h"
#include "programs.h"

#define BTF_PATH     "/sys/kernel/btf/vmlinux"
#define KPROBE_PATH  "/sys/bus/event_source/devices/kprobe/type" /* 4.17 */
#define PREEMPT_PATH "/sys/kernel/debug/sched/preempt"           /* 5.13 */

/* include/linux/proc_ns.h: the initial pid namespace has this inode on every kernel */
#define PID_NAMESPACE_PATH  "/proc/self/ns/pid"
#define PID_NAMESPACE_INODE 0xEFFFFFFCU

/* Entries of 64 pages, about 90 bytes each: what is filled and not yet accessed can
 * be as much as the machine's memory, but never is. */
#define LEDGER_LEAST (1U << 14)
#define LEDGER_MOST  (1U << 18)

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
	struct bpf_object *object;
	struct hooks hooks[HOOK_SETS];
	struct state *state; /* the programs' variables, NULL before they are loaded */
	struct bpf_link *look;
	struct bpf_link *sweep; /* NULL where its program is run directly */
	enum programs which;
	struct settings settings; /* of the first set */
	uint64_t missed;          /* before probe_start */
	unsigned ledger_size;
	int processors;
};

/* The last complaint of libbpf: its callback knows no caller. */
static char complaint[200];

static int
keep_complaint(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	snprintf(complaint, sizeof complaint, "%s", text);
	free(text);
	return 0;
}

static void
explain(struct probe_reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
explain(struct probe_reason *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason->text, sizeof reason->text, format, arguments);
	va_end(arguments);
}

static void
explain_load(struct probe_reason *reason, int error)
{
	if (error == EPERM && geteuid() != 0)
		explain(reason, "loading BPF programs needs root, or CAP_BPF and CAP_PERFMON");
	else if (error == EPERM)
		explain(reason,
		    "the kernel lets not even root load BPF programs here: a "
		    "container without CAP_BPF and CAP_PERFMON, or kernel lockdown");
	else
		explain(reason, "the kernel refused the BPF programs: %s (%s)", strerror(error),
		    complaint);
}

/* Why TIER cannot be had: what its role ROLE lacks. */
static void
explain_missing(struct probe_reason *reason, enum hook_role role, enum hook_tier tier)
{
	const char *point = hooks_newest(role, tier);

	if (errno != EOPNOTSUPP)
		explain(reason, "cannot look up what the kernel has: %s", strerror(errno));
	else if (hooks_is_tracepoint(role, tier))
		explain(reason,
		    "this kernel has no tracepoint %s to count %s events by: Linux 6.12 and "
		    "later have them all",
		    point, hooks_role(role));
	else
		explain(reason, "this kernel has no function %s to count %s events by", point,
		    hooks_role(role));
}

static void
size_ledger(struct probe *probe)
{
	struct meminfo memory;
	uint64_t entries = LEDGER_LEAST;

	if (meminfo_read(MEMINFO_PATH, &memory) == 0 && memory.total != MEMINFO_UNKNOWN)
		entries = memory.total / (uint64_t)sysconf(_SC_PAGESIZE) / 64;
	if (entries < LEDGER_LEAST)
		entries = LEDGER_LEAST;
	if (entries > LEDGER_MOST)
		entries = LEDGER_MOST;
	probe->ledger_size = (unsigned)entries;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(probe->object, "ledger"),
	    probe->ledger_size);
}

static int
map_fd(const struct probe *probe, const char *name)
{
	return bpf_object__find_map_fd_by_name(probe->object, name);
}

static struct bpf_program *
program_named(const struct probe *probe, const char *name)
{
	return bpf_object__find_program_by_name(probe->object, name);
}

static bool
is_iterator(const struct bpf_program *program)
{
	return strncmp(bpf_program__section_name(program), "iter/", 5) == 0;
}

/* An iterator over all tasks, or over the elements of MAP where its program is for one. */
static struct bpf_link *
attach_iterator(const struct probe *probe, const struct bpf_program *program, const char *map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)map_fd(probe, map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
	    .link_info_len = sizeof info);
	bool of_map = strcmp(bpf_program__section_name(program), "iter/bpf_map_elem") == 0;

	return bpf_program__attach_iter(program, of_map ? &options : NULL);
}

static int
run_program(const struct probe *probe, const char *name)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(bpf_program__fd(program_named(probe, name)), &options);
}

/* Runs an iterator's program over all it iterates. */
static int
iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -1;
	do
		n = read(fd, nothing, sizeof nothing);
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Looks at what tasks have read. Functions say all as they return; what tracepoints have
 * shown may still be held. */
static int
look(const struct probe *probe)
{
	if (probe->hooks[0].tier == HOOK_TRACED && run_program(probe, "look_at_seats") < 0)
		return -1;
	return iterate(probe->look);
}

/* The programs know their own address after a look. */
static int
look_first(struct probe *probe, struct probe_reason *reason)
{
	const struct bpf_program *sweep = program_named(probe, "sweep");

	probe->look = attach_iterator(probe, program_named(probe, "look"), "readers");
	if (probe->look && is_iterator(sweep))
		probe->sweep = attach_iterator(probe, sweep, "ledger");
	if (!probe->look || (is_iterator(sweep) && !probe->sweep) || look(probe) < 0) {
		explain(reason, "cannot look at all tasks: %s", strerror(errno));
		return -1;
	}
	return 0;
}

static int
attach_all(struct probe *probe, struct probe_reason *reason)
{
	for (int set = 0; set < HOOK_SETS; set++) {
		enum hook_role failed;

		if (hooks_attach(&probe->hooks[set], &failed) == 0)
			continue;
		explain(reason, "cannot attach to %s: %s", hooks_point(&probe->hooks[set], failed),
		    strerror(errno));
		return -1;
	}
	return 0;
}

static int
map_state(struct probe *probe, struct probe_reason *reason)
{
	void *state = mmap(NULL, sizeof *probe->state, PROT_READ | PROT_WRITE, MAP_SHARED,
	    map_fd(probe, ".bss"), 0);

	if (state == MAP_FAILED) {
		explain(reason, "cannot map the programs' variables: %s", strerror(errno));
		return -1;
	}
	probe->state = state;
	return 0;
}

static void
unload(struct probe *probe)
{
	for (int set = 0; set < HOOK_SETS; set++) {
		hooks_detach(&probe->hooks[set]);
		if (set > 0)
			bpf_object__close(probe->hooks[set].object);
	}
	bpf_link__destroy(probe->look);
	bpf_link__destroy(probe->sweep);
	if (probe->state)
		munmap(probe->state, sizeof *probe->state);
	bpf_object__close(probe->object);
	memset(probe->hooks, 0, sizeof probe->hooks);
	probe->object = NULL;
	probe->look = probe->sweep = NULL;
	probe->state = NULL;
}

/* Opens the object for this kernel, and chooses its points of TIER. */
static int
open_object(struct probe *probe, enum hook_tier tier, bool target, struct probe_reason *reason)
{
	unsigned use = HOOKS_FUNCTIONS | HOOKS_TRACEPOINTS | (target ? HOOKS_TARGETS : 0);
	enum hook_role missing;

	for (int which = 0; which < PROGRAMS; which++) {
		probe->object = programs_open((enum programs)which);
		if (!probe->object) {
			explain(reason, "cannot open the BPF programs: %s", strerror(errno));
			return -1;
		}
		if (hooks_choose(&probe->hooks[0], probe->object, tier, use, &missing) == 0) {
			probe->which = (enum programs)which;
			return 0;
		}
		/* the first complaint is of the newer kernels' object, and tells more */
		if (which == 0 || errno != EOPNOTSUPP)
			explain_missing(reason, missing, tier);
		unload(probe);
	}
	return -1;
}

/* Whether a kernel that can do either (PREEMPT_DYNAMIC, 5.12) was told not to preempt itself:
 * the mode at work stands in brackets. Without debugfs nobody can tell. */
static bool
was_told_not_to(void)
{
	FILE *stream = fopen(PREEMPT_PATH, "re");
	char modes[100] = "";
	size_t length = stream ? fread(modes, 1, sizeof modes - 1, stream) : 0;

	if (stream)
		fclose(stream);
	modes[length] = '\0';
	return strstr(modes, "(none)") || strstr(modes, "(voluntary)");
}

/* Whether the kernel may preempt programs; those of kprobes it never does. */
static bool
may_preempt(void)
{
	struct utsname kernel;

	if (uname(&kernel) < 0)
		return true;
	return strstr(kernel.version, "PREEMPT") && !was_told_not_to();
}

/* Whether those at tracepoints are no exception, as they are before 7.0: there is a guard of
 * tracepoints that does not keep the processor. */
static bool
may_preempt_traced(void)
{
	struct btf *btf = may_preempt() ? btf__load_vmlinux_btf() : NULL;
	bool found = btf &&
	    btf__find_by_name_kind(btf, "class_srcu_fast_notrace_t", BTF_KIND_TYPEDEF) > 0;

	btf__free(btf);
	return found;
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

/* How many sets of programs there are. */
static int
sets_wanted(const struct probe *probe)
{
	if (probe->settings.turn && probe->hooks[0].tier == HOOK_TRACED)
		return HOOK_SETS;
	return probe->settings.turn || probe->settings.twice ? 2 : 1;
}

/* Has OBJECT use the maps of the first set, but for the constants. */
static int
share_maps(const struct probe *probe, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		int error = strstr(name, ".rodata") ? 0
						    : bpf_map__reuse_fd(map, map_fd(probe, name));

		errno = -error;
		if (error)
			return -1;
	}
	return 0;
}

/* Loads the same programs once more, as SET: see full.h and was_seen in reader.h. */
static int
load_again(struct probe *probe, int set, bool target, struct probe_reason *reason)
{
	enum hook_tier tier = probe->hooks[0].tier;
	struct settings settings = probe->settings;
	unsigned use = (target ? HOOKS_TARGETS : 0) | (settings.twice ? HOOKS_FUNCTIONS : 0) |
	    (settings.turn ? HOOKS_TRACEPOINTS : 0);
	struct bpf_object *object = programs_open(probe->which);
	enum hook_role missing;
	int error;

	probe->hooks[set].object = object;
	settings.second = settings.twice;
	settings.turn *= set + 1;
	settings.last = set + 1 == sets_wanted(probe);
	if (tier == HOOK_FULL && access(KPROBE_PATH, F_OK) == 0)
		tier = HOOK_MIXED;
	if (!object || set_constants(object, &settings) < 0 || share_maps(probe, object) < 0 ||
	    hooks_choose(&probe->hooks[set], object, tier, use, &missing) < 0) {
		explain(reason, "cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	error = bpf_object__load(object);
	if (error < 0)
		explain_load(reason, -error);
	return error;
}

static int
load(struct probe *probe, enum hook_tier tier, bool target, struct probe_reason *reason)
{
	bool preempts = may_preempt(), twice = preempts && tier == HOOK_FULL;
	int error;

	probe->settings = (struct settings){
		.twice = twice,
		.patient = !preempts,
		.recovers = twice || tier == HOOK_KPROBE,
		.turn = may_preempt_traced(),
	};
	if (open_object(probe, tier, target, reason) < 0)
		return -1;
	if (twice && probe->which == PROGRAMS_PAGES) {
		explain(reason, "this kernel may preempt a program that holds a lock");
		return -1;
	}
	if (set_constants(probe->object, &probe->settings) < 0) {
		explain(reason, "cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	size_ledger(probe);
	load_too(probe->object, "look");
	load_too(probe->object, "sweep");
	if (tier == HOOK_TRACED)
		load_too(probe->object, "look_at_seats");
	error = bpf_object__load(probe->object);
	if (error < 0) {
		explain_load(reason, -error);
		return -1;
	}
	if (map_state(probe, reason) < 0)
		return -1;
	probe->state->has_target = target;
	for (int set = 1; set < sets_wanted(probe); set++)
		if (load_again(probe, set, target, reason) < 0)
			return -1;
	return look_first(probe, reason) < 0 ? -1 : attach_all(probe, reason);
}

/* Loads a program that does nothing; an errno. */
static int
try_program(enum bpf_prog_type type, enum bpf_attach_type attach, __u32 function)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach,
	    .attach_btf_id = function);
	int fd = bpf_prog_load(type, "trial", "GPL", nothing, sizeof nothing / sizeof *nothing,
	    &options);

	if (fd < 0)
		return -fd;
	close(fd);
	return 0;
}

/* Whether the kernel lets us load programs at all. */
static bool
may_load(struct probe_reason *reason)
{
	int error = try_program(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);

	if (error)
		explain_load(reason, error);
	return !error;
}

/* What can be told of a tier at once, before the large programs are tried. */
static bool
may_have(enum hook_tier tier, struct probe_reason *reason)
{
	/* 1 is no function, but a sandbox refuses the kind before it looks */
	if (tier == HOOK_FULL && try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, 1) == EPERM) {
		explain(reason, "the kernel refuses programs at functions, of root too");
		return false;
	}
	if (tier == HOOK_KPROBE && access(KPROBE_PATH, F_OK) < 0) {
		explain(reason, "%s: %s (the kernel needs CONFIG_KPROBES)", KPROBE_PATH,
		    strerror(errno));
		return false;
	}
	return true;
}

/* Loads the first of the tiers that the kernel allows, or WANTED only. Where all are
 * refused each has its reason. */
static int
load_first(struct probe *probe, enum probe_tier wanted, bool target, struct probe_reason *reason)
{
	struct probe_reason each;

	if (!may_load(reason))
		return -1;
	reason->text[0] = '\0';
	for (int tier = 0; tier < HOOK_TIERS; tier++) {
		size_t length = strlen(reason->text);

		if (wanted != PROBE_ANY && wanted != tiers[tier].tier)
			continue;
		if (may_have((enum hook_tier)tier, &each) &&
		    load(probe, (enum hook_tier)tier, target, &each) == 0)
			return 0;
		unload(probe);
		if (wanted != PROBE_ANY)
			*reason = each;
		else
			snprintf(reason->text + length, sizeof reason->text - length, "%s%s: %s",
			    length ? "; " : "", tiers[tier].means, each.text);
	}
	return -1;
}

/* The programs know processes by the numbers of the initial namespace. */
static bool
sees_all_processes(void)
{
	struct stat status;

	return stat(PID_NAMESPACE_PATH, &status) < 0 || status.st_ino == PID_NAMESPACE_INODE;
}

struct probe *
probe_open(enum probe_tier tier, bool target, struct probe_reason *reason)
{
	struct probe *probe;

	if (target && !sees_all_processes()) {
		explain(reason,
		    "process numbers here are a container's own: run hitratio in the "
		    "host's pid namespace to follow a process");
		return NULL;
	}
	if (access(BTF_PATH, R_OK) < 0) {
		explain(reason,
		    "%s: %s (the kernel needs CONFIG_DEBUG_INFO_BTF, and /sys must be mounted)",
		    BTF_PATH, strerror(errno));
		return NULL;
	}
	libbpf_set_print(keep_complaint);
	probe = calloc(1, sizeof *probe);
	if (!probe) {
		explain(reason, "%s", strerror(errno));
		return NULL;
	}
	probe->processors = libbpf_num_possible_cpus();
	if (probe->processors < 0) {
		explain(reason, "cannot count processors: %s", strerror(-probe->processors));
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

	return bpf_map_update_elem(map_fd(probe, "targets"), &key, &yes, BPF_ANY);
}

int
probe_target(struct probe *probe, pid_t pid)
{
	/* the fork program is attached: what is started from here on adds itself */
	return descend(pid, add_target, probe);
}

void
probe_start(struct probe *probe)
{
	probe->missed = probe_missed(probe);
	__atomic_store_n(&probe->state->counting, 1, __ATOMIC_SEQ_CST);
}

static int
sweep(struct probe *probe)
{
	return probe->sweep ? iterate(probe->sweep) : run_program(probe, "sweep");
}

static int
look_and_sweep(struct probe *probe)
{
	struct state *state = probe->state;

	state->settled = __atomic_load_n(&state->evictions, __ATOMIC_SEQ_CST);
	__atomic_store_n(&state->looks, state->looks + 1, __ATOMIC_SEQ_CST);
	if (look(probe) < 0)
		return -1;
	return sweep(probe);
}

int
probe_settle(struct probe *probe)
{
	return probe->state->set_aside ? look_and_sweep(probe) : look(probe);
}

void
probe_tidy(struct probe *probe)
{
	struct state *state = probe->state;

	state->make_room = state->ledger_entries > probe->ledger_size / 2;
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
	failed = bpf_map_lookup_elem(map_fd(probe, "sums"), &key, each);
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
	const volatile __u32 *pending = probe->state->pending;
	uint64_t pages = 0;

	for (int i = 0; i < HINTS; i++)
		pages += pending[i];
	return pages;
}

/* Two sets that miss events for different reasons hardly ever miss the same. */
static bool
is_mixed(const struct probe *probe)
{
	return probe->hooks[1].tier == HOOK_MIXED;
}

uint64_t
probe_missed(const struct probe *probe)
{
	uint64_t missed = hooks_missed(probe->hooks, false), mended;

	if (!is_mixed(probe))
		missed += hooks_missed(probe->hooks, true);
	/* read after the others: they may go on */
	mended = __atomic_load_n(&probe->state->mended, __ATOMIC_SEQ_CST) + probe->missed;
	return missed > mended ? missed - mended : 0;
}

uint64_t
probe_doubtful(const struct probe *probe)
{
	return is_mixed(probe) ? hooks_missed(probe->hooks, true) : 0;
}

bool
probe_counts(const struct probe *probe, enum counter counter)
{
	return counter != STALLS || probe->hooks[0].tier != HOOK_TRACED;
}

const char *
probe_tier(const struct probe *probe)
{
	return tiers[probe->hooks[0].tier].name;
}

int
probe_describe(const struct probe *probe, char *text, size_t size)
{
	return snprintf(text, size, "exact: %s tier (%s), reads by %s", probe_tier(probe),
	    tiers[probe->hooks[0].tier].means, hooks_point(&probe->hooks[0], ROLE_READ));
}

const char *
probe_role(const struct probe *probe, int role, const char **point)
{
	if (role >= ROLES)
		return NULL;
	*point = hooks_point(&probe->hooks[0], (enum hook_role)role);
	return hooks_role((enum hook_role)role);
}
