/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "permits.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "vmlinux.h"

#define KPROBE_PATH  "/sys/bus/event_source/devices/kprobe/type" /* 4.17 */
#define PREEMPT_PATH "/sys/kernel/debug/sched/preempt"           /* 5.13 */

#define STORAGE_MARK "bpf_task_storage_busy" /* 6.18 has it, 7.2 no longer */

/* include/linux/proc_ns.h: the initial pid namespace has this inode on every kernel */
#define PID_NAMESPACE_PATH  "/proc/self/ns/pid"
#define PID_NAMESPACE_INODE 0xEFFFFFFCU

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

bool
permits_programs(struct reason *reason)
{
	int error = try_program(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);

	if (error)
		reason_refused(reason, error);
	return !error;
}

/*
 * Opens an event that counts nothing, and that anybody may have; an errno. Where Debian's and
 * Ubuntu's kernels have kernel.perf_event_paranoid above 2, they refuse each kind to all without
 * CAP_SYS_ADMIN.
 */
static int
try_event(void)
{
	struct perf_event_attr nothing = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof nothing,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &nothing, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static bool
refuses_events(void)
{
	int error = try_event();

	return error == EACCES || error == EPERM;
}

bool
permits_kprobes(void)
{
	return access(KPROBE_PATH, F_OK) == 0 && !refuses_events();
}

bool
permits_tier(enum hook_tier tier, struct reason *reason)
{
	/* 1 is no function, but a sandbox refuses the kind before it looks */
	if (tier == HOOK_FULL && try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, 1) == EPERM) {
		reason_set(reason, "the kernel refuses programs at functions, of root too");
		return false;
	}
	if (tier == HOOK_KPROBE && access(KPROBE_PATH, F_OK) < 0) {
		reason_set(reason, "%s: %s (the kernel needs CONFIG_KPROBES)", KPROBE_PATH,
		    strerror(errno));
		return false;
	}
	if (tier == HOOK_KPROBE && refuses_events()) {
		reason_set(reason,
		    "the kernel refuses perf_event_open(2): it takes CAP_SYS_ADMIN, or sysctl "
		    "kernel.perf_event_paranoid=2 where Debian or Ubuntu have more");
		return false;
	}
	return true;
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

bool
permits_preemption(void)
{
	struct utsname kernel;

	if (uname(&kernel) < 0)
		return true;
	return strstr(kernel.version, "PREEMPT") && !was_told_not_to();
}

/* There is a guard of tracepoints that does not keep the processor. */
bool
permits_preemption_traced(void)
{
	static int answer = -1;

	if (answer < 0)
		answer = permits_preemption() &&
		    vmlinux_has("class_srcu_fast_notrace_t", BTF_KIND_TYPEDEF);
	return answer;
}

/* Where a program that asks for storage marks the processor, it has none for others until it
 * goes on. */
bool
permits_storage(void)
{
	static int answer = -1;

	if (answer < 0)
		answer = !permits_preemption() || !vmlinux_has(STORAGE_MARK, BTF_KIND_VAR);
	return answer;
}

bool
permits_pids(void)
{
	struct stat status;

	return stat(PID_NAMESPACE_PATH, &status) < 0 || status.st_ino == PID_NAMESPACE_INODE;
}
