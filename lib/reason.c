/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reason.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vmlinux.h"

/* The last complaint of libbpf: its callback knows no caller. NULL: none. */
static char *complaint;

static int
keep_complaint(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	free(complaint);
	complaint = text;
	return 0;
}

void
reason_keep_complaints(void)
{
	libbpf_set_print(keep_complaint);
}

void
reason_set(struct reason *reason, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	free(reason->text);
	reason->text = text;
}

void
reason_add(struct reason *reason, const char *format, ...)
{
	va_list arguments;
	char *more;

	va_start(arguments, format);
	if (vasprintf(&more, format, arguments) < 0)
		more = NULL;
	va_end(arguments);
	if (more)
		reason_set(reason, "%s%s", reason->text ? reason->text : "", more);
	free(more);
}

const char *
reason_text(const struct reason *reason)
{
	return reason->text ? reason->text : strerror(ENOMEM);
}

void
reason_free(struct reason *reason)
{
	free(reason->text);
	reason->text = NULL;
}

/* Our effective capabilities, each a bit; none where that cannot be told. */
static uint64_t
capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct halves[_LINUX_CAPABILITY_U32S_3] = { 0 };

	syscall(SYS_capget, &header, halves);
	return halves[0].effective | (uint64_t)halves[1].effective << 32;
}

/* Which of those that loading takes (Linux 5.8) we lack; NULL: none. */
static const char *
lacking(void)
{
	uint64_t ours = capabilities();
	bool bpf = ours >> CAP_BPF & 1, perfmon = ours >> CAP_PERFMON & 1;

	if (ours >> CAP_SYS_ADMIN & 1 || (bpf && perfmon))
		return NULL;
	return bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
}

/* Whether programs and maps are charged to RLIMIT_MEMLOCK, as before Linux 5.11, and there is
 * one: libbpf has tried to raise it. */
static bool
is_limited(struct rlimit *memlock)
{
	return prlimit(0, RLIMIT_MEMLOCK, NULL, memlock) == 0 &&
	    memlock->rlim_cur != RLIM_INFINITY && vmlinux_has("bpf_map_charge_init", BTF_KIND_FUNC);
}

static void
explain_permission(struct reason *reason)
{
	const char *lack = lacking();
	struct rlimit memlock;

	if (lack && geteuid() != 0)
		reason_set(reason, "loading BPF programs needs %s%s",
		    strchr(lack, ' ') ? "root, or " : "", lack);
	else if (lack)
		reason_set(reason,
		    "loading BPF programs needs %s, of which root here has been deprived: give it "
		    "to the container or service",
		    lack);
	else if (is_limited(&memlock))
		reason_set(reason,
		    "loading BPF programs takes more memory than RLIMIT_MEMLOCK allows before "
		    "Linux 5.11 (%llu KiB): raise it (ulimit -l unlimited, LimitMEMLOCK=infinity "
		    "of a service) or give CAP_SYS_RESOURCE",
		    (unsigned long long)memlock.rlim_cur / 1024);
	else
		reason_set(reason,
		    "the kernel refuses BPF programs in spite of our capabilities: kernel "
		    "lockdown, a container's user namespace or a sandbox (seccomp) does so");
}

void
reason_refused(struct reason *reason, int error)
{
	if (error == EPERM)
		explain_permission(reason);
	else
		reason_set(reason, "the kernel refused the BPF programs: %s (%s)", strerror(error),
		    complaint ? complaint : "no details");
}
