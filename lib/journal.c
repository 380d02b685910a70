/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "diag.h"
#include "logger.h"
#include "stop.h"

#define PAUSE 60000000000ULL /* ns without another try */

static bool to_syslog;
static uint64_t deaf_until; /* stop_now; 0: it listens */
static unsigned long left_out;

void
journal_to_syslog(bool wanted)
{
	to_syslog = wanted;
}

static int
log_to_system(int priority, const char *text)
{
	char tag[64];

	snprintf(tag, sizeof tag, "%s[%ld]", diag_tool(), (long)getpid());
	return logger_send(LOGGER_SOCKET, priority, tag, text, 0);
}

static void
log_text(int priority, const char *text)
{
	char missed[64];

	if (stop_now() < deaf_until) {
		left_out++;
		return;
	}
	deaf_until = 0;
	if (left_out) {
		snprintf(missed, sizeof missed, "%lu messages were left out", left_out);
		if (log_to_system(LOG_WARNING, missed) == 0)
			left_out = 0;
	}
	if (!left_out && log_to_system(priority, text) == 0)
		return;
	diag_error("the system log (" LOGGER_SOCKET ") does not take messages: %s",
	    strerror(errno));
	left_out++;
	deaf_until = stop_now() + PAUSE;
}

void
journal_tell(int priority, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (priority < LOG_NOTICE)
		diag_error("%s", text);
	else
		diag_note("%s", text);
	if (to_syslog)
		log_text(priority, text);
	free(text);
}
