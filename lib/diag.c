/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diag.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "esc.h"

static const char *tool_name = "hotset";
static int verbosity;
static atomic_ulong errors;

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
		if (fclose(stream) == 0 && write(STDERR_FILENO, line, length) < 0) {
			/* nobody is left to be told */
		}
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
