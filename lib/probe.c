/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descend.h"
#include "meminfo.h"
#include "pagecache.skel.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

/* include/linux/proc_ns.h: the initial pid namespace has this inode on every kernel */
#define PID_NAMESPACE_PATH  "/proc/self/ns/pid"
#define PID_NAMESPACE_INODE 0xEFFFFFFCU

/* Entries of 64 pages, about 90 bytes each: what is filled and not yet accessed can
 * be as much as the machine's memory, but never is. */
#define LEDGER_LEAST (1U << 14)
#define LEDGER_MOST  (1U << 18)

enum role {
	ROLE_INSERT,
	ROLE_EVICT,
	ROLE_READ,
	ROLE_FAULT,
	ROLE_MAP,
	ROLE_DIRTY,
	ROLE_URING,
	ROLE_FORK,
	ROLE_EXIT,
	ROLE_FREE,
	ROLES,
};

enum tier { TIER_TRACEPOINT, TIERS };

static const struct {
	const char *name;
	bool optional; /* the kernel may be built without what it watches */
	bool targets;  /* needed only to follow processes */
} roles[ROLES] = {
	[ROLE_INSERT] = { .name = "insert" },
	[ROLE_EVICT] = { .name = "evict" },
	[ROLE_READ] = { .name = "read" },
	[ROLE_FAULT] = { .name = "fault" },
	[ROLE_MAP] = { .name = "map" },
	[ROLE_DIRTY] = { .name = "dirty" },
	[ROLE_URING] = { .name = "io_uring", .optional = true },
	[ROLE_FORK] = { .name = "fork", .targets = true },
	[ROLE_EXIT] = { .name = "exit" },
	[ROLE_FREE] = { .name = "free", .targets = true },
};

static const struct hook {
	enum role role;
	enum tier tier;
	const char *program;
	const char *point;
} hooks[] = {
#define HOOK(role, tier, program, point) { ROLE_##role, TIER_##tier, #program, point },
#include "hooks.def"
#undef HOOK
};
#define HOOKS (sizeof hooks / sizeof *hooks)

struct probe {
	struct pagecache *programs;
	const struct hook *chosen[ROLES];
	struct bpf_link *links[ROLES];
	struct bpf_link *settling;
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

/* Picks the first attach point of ROLE that the kernel has. */
static int
choose(struct probe *probe, enum role role, bool target, struct probe_reason *reason)
{
	const char *newest = NULL;
	int error;

	if (roles[role].targets && !target)
		return 0;
	for (const struct hook *hook = hooks; hook < hooks + HOOKS; hook++) {
		struct bpf_program *program;

		if (hook->role != role)
			continue;
		program = bpf_object__find_program_by_name(probe->programs->obj, hook->program);
		error = bpf_program__set_attach_target(program, 0, hook->point);
		if (error == 0) {
			bpf_program__set_autoload(program, true);
			probe->chosen[role] = hook;
			return 0;
		}
		if (error != -ESRCH && error != -ENOENT) {
			explain(reason, "cannot look up what the kernel has: %s", strerror(-error));
			errno = -error;
			return -1;
		}
		if (!newest)
			newest = hook->point;
	}
	if (roles[role].optional)
		return 0;
	explain(reason,
	    "this kernel has no tracepoint %s to count %s events by: Linux 6.12 and later have "
	    "them all",
	    newest, roles[role].name);
	errno = EOPNOTSUPP;
	return -1;
}

static int
choose_all(struct probe *probe, bool target, struct probe_reason *reason)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, probe->programs->obj)
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(probe->programs->progs.sweep, true);
	bpf_program__set_autoload(probe->programs->progs.settle_returned, true);
	for (int role = 0; role < ROLES; role++)
		if (choose(probe, (enum role)role, target, reason) < 0)
			return -1;
	return 0;
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
	bpf_map__set_max_entries(probe->programs->maps.ledger, probe->ledger_size);
}

static int
attach_all(struct probe *probe, struct probe_reason *reason)
{
	for (int role = 0; role < ROLES; role++) {
		const struct hook *hook = probe->chosen[role];
		struct bpf_program *program;

		if (!hook)
			continue;
		program = bpf_object__find_program_by_name(probe->programs->obj, hook->program);
		probe->links[role] = bpf_program__attach_trace(program);
		if (!probe->links[role]) {
			explain(reason, "cannot attach to %s: %s", hook->point, strerror(errno));
			return -1;
		}
	}
	probe->settling = bpf_program__attach_iter(probe->programs->progs.settle_returned, NULL);
	if (!probe->settling) {
		explain(reason, "cannot look at all tasks: %s", strerror(errno));
		return -1;
	}
	return 0;
}

static int
set_up(struct probe *probe, bool target, struct probe_reason *reason)
{
	int error;

	probe->programs = pagecache__open();
	if (!probe->programs) {
		explain(reason, "cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	probe->programs->rodata->has_target = target;
	if (choose_all(probe, target, reason) < 0)
		return -1;
	size_ledger(probe);
	error = pagecache__load(probe->programs);
	if (error < 0) {
		explain_load(reason, -error);
		errno = -error;
		return -1;
	}
	return attach_all(probe, reason);
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

	if (tier != PROBE_ANY && tier != PROBE_TRACEPOINT) {
		explain(reason, "the full tier is not there yet");
		return NULL;
	}

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
	if (probe->processors < 0 || set_up(probe, target, reason) < 0) {
		if (probe->processors < 0)
			explain(reason, "cannot count processors: %s",
			    strerror(-probe->processors));
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
	for (int role = 0; role < ROLES; role++)
		bpf_link__destroy(probe->links[role]);
	bpf_link__destroy(probe->settling);
	pagecache__destroy(probe->programs);
	free(probe);
}

static int
add_target(pid_t pid, void *argument)
{
	const struct probe *probe = argument;
	__u32 key = (__u32)pid;
	__u8 yes = 1;

	return bpf_map_update_elem(bpf_map__fd(probe->programs->maps.targets), &key, &yes, BPF_ANY);
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
	__atomic_store_n(&probe->programs->bss->counting, true, __ATOMIC_SEQ_CST);
}

int
probe_settle(struct probe *probe)
{
	int fd = bpf_iter_create(bpf_link__fd(probe->settling));
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

int
probe_sums(struct probe *probe, enum scope scope, struct counters *sums)
{
	struct counters *each = calloc((size_t)probe->processors, sizeof *each);
	__u32 key = scope;
	int failed;

	if (!each)
		return -1;
	failed = bpf_map_lookup_elem(bpf_map__fd(probe->programs->maps.sums), &key, each);
	memset(sums, 0, sizeof *sums);
	for (int i = 0; !failed && i < probe->processors; i++)
		for (int counter = 0; counter < COUNTERS; counter++)
			sums->of[counter] += each[i].of[counter];
	free(each);
	return failed ? -1 : 0;
}

bool
probe_counts(const struct probe *probe, enum counter counter)
{
	(void)probe;
	return counter != STALLS;
}

uint64_t
probe_pending(const struct probe *probe)
{
	const volatile __u32 *hints = probe->programs->bss->pending_hints;
	uint64_t pages = 0;

	for (int i = 0; i < HINTS; i++)
		pages += hints[i];
	return pages;
}

uint64_t
probe_missed(const struct probe *probe)
{
	uint64_t missed = 0;

	for (int role = 0; role < ROLES; role++) {
		const struct hook *hook = probe->chosen[role];
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof info;
		struct bpf_program *program;

		if (!hook)
			continue;
		program = bpf_object__find_program_by_name(probe->programs->obj, hook->program);
		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

void
probe_tidy(struct probe *probe)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	bool scarce = probe->programs->bss->ledger_entries > probe->ledger_size / 2;

	if (!scarce && !probe->programs->bss->set_aside)
		return;
	probe->programs->bss->make_room = scarce;
	bpf_prog_test_run_opts(bpf_program__fd(probe->programs->progs.sweep), &options);
}

const char *
probe_tier(const struct probe *probe)
{
	static const char *const names[TIERS] = { [TIER_TRACEPOINT] = "tracepoint" };

	return names[probe->chosen[ROLE_READ]->tier];
}

int
probe_describe(const struct probe *probe, char *text, size_t size)
{
	return snprintf(text, size, "exact: %s tier, reads by %s", probe_tier(probe),
	    probe->chosen[ROLE_READ]->point);
}

const char *
probe_role(const struct probe *probe, int role, const char **point)
{
	if (role >= ROLES)
		return NULL;
	*point = probe->chosen[role] ? probe->chosen[role]->point : NULL;
	return roles[role].name;
}
