/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reason.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void
reason_keep_complaints(void)
{
	libbpf_set_print(keep_complaint);
}

void
reason_set(struct reason *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason->text, sizeof reason->text, format, arguments);
	va_end(arguments);
}

void
reason_refused(struct reason *reason, int error)
{
	if (error == EPERM && geteuid() != 0)
		reason_set(reason, "loading BPF programs needs root, or CAP_BPF and CAP_PERFMON");
	else if (error == EPERM)
		reason_set(reason,
		    "the kernel lets not even root load BPF programs here: a "
		    "container without CAP_BPF and CAP_PERFMON, or kernel lockdown");
	else
		reason_set(reason, "the kernel refused the BPF programs: %s (%s)", strerror(error),
		    complaint);
}
