/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_JOURNAL_H
#define HOTSET_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What happens while a tool goes on: told on standard error, and to the system log where
 * that is asked for. A log daemon that is stuck must not keep us from going on: after a
 * message that it did not take, it gets none for a while, and then how many were left out.
 */
struct journal {
	bool syslog;
	uint64_t deaf_until; /* stop_now; 0: it listens */
	unsigned long left_out;
};

/* PRIORITY is one of <syslog.h>; those from LOG_NOTICE on are notes, which quiet hides. */
void journal_tell(struct journal *journal, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
