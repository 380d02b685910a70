/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "diag.h"
#include "logger.h"
#include "stop.h"

#define PAUSE 60000000000ULL /* ns without another try */

static int
log_to_system(int priority, const char *text)
{
	return logger_send(LOGGER_SOCKET, priority, diag_tool(), text);
}

static void
log_text(struct journal *journal, int priority, const char *text)
{
	char missed[64];

	if (stop_now() < journal->deaf_until) {
		journal->left_out++;
		return;
	}
	journal->deaf_until = 0;
	if (journal->left_out) {
		snprintf(missed, sizeof missed, "%lu messages were left out", journal->left_out);
		if (log_to_system(LOG_WARNING, missed) == 0)
			journal->left_out = 0;
	}
	if (!journal->left_out && log_to_system(priority, text) == 0)
		return;
	diag_error("the system log (" LOGGER_SOCKET ") does not take messages: %s",
	    strerror(errno));
	journal->left_out++;
	journal->deaf_until = stop_now() + PAUSE;
}

void
journal_tell(struct journal *journal, int priority, const char *format, ...)
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
	if (journal->syslog)
		log_text(journal, priority, text);
	free(text);
}
