/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "esc.h"
#include "patient.h"

static const char *tool_name = "hotset";
static int verbosity;
static atomic_ulong errors;
static bool hurried;
static atomic_ulong left_out;

void
diag_init(const char *tool)
{
	tool_name = tool;
}

void
diag_verbosity(int level)
{
	verbosity = level;
}

const char *
diag_tool(void)
{
	return tool_name;
}

unsigned long
diag_errors(void)
{
	return atomic_load(&errors);
}

void
diag_hurry(void)
{
	hurried = true;
}

/* Whether it went out, or nobody is left to be told. */
static bool
put(const char *line, size_t length)
{
	size_t written;

	if (patient_write(STDERR_FILENO, line, length, hurried ? 0 : PATIENT_FOREVER, &written) < 0)
		return errno != EAGAIN || written > 0;
	return true;
}

/* What was not told before comes first. */
static bool
put_left_out(void)
{
	unsigned long count = atomic_exchange(&left_out, 0);
	char line[128];
	int length;

	if (count == 0)
		return true;
	length = snprintf(line, sizeof line, "%s: %lu messages were left out\n", tool_name, count);
	if (put(line, (size_t)length))
		return true;
	atomic_fetch_add(&left_out, count);
	return false;
}

static void
show(const char *format, va_list arguments)
{
	char *line = NULL, *text = NULL;
	size_t length = 0;
	FILE *stream;

	if (vasprintf(&text, format, arguments) < 0)
		return;
	stream = open_memstream(&line, &length);
	if (stream) {
		fprintf(stream, "%s: ", tool_name);
		esc_terminal(stream, text);
		fputc('\n', stream);
		if (fclose(stream) == 0 && !(put_left_out() && put(line, length)))
			atomic_fetch_add(&left_out, 1);
		free(line);
	}
	free(text);
}

void
diag_error(const char *format, ...)
{
	va_list arguments;

	atomic_fetch_add(&errors, 1);
	va_start(arguments, format);
	show(format, arguments);
	va_end(arguments);
}

void
diag_file(const char *path, int error)
{
	diag_error("%s: %s", path, strerror(error));
}

void
diag_note(const char *format, ...)
{
	va_list arguments;

	if (verbosity < 0)
		return;
	va_start(arguments, format);
	show(format, arguments);
	va_end(arguments);
}

void
diag_detail(const char *format, ...)
{
	va_list arguments;

	if (verbosity < 1)
		return;
	va_start(arguments, format);
	show(format, arguments);
	va_end(arguments);
}
