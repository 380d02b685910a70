/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_JOURNAL_H
#define HOTSET_JOURNAL_H

#include <stdbool.h>

/*
 * What happens while a tool goes on: told on standard error, and to the system log where
 * that is asked for. A log daemon that is stuck must not keep us from going on: after a
 * message that it did not take at once, it gets none for a while, and then how many were
 * left out. As diag, one for the process.
 */

/* Whether the system log is told as well. */
void journal_to_syslog(bool wanted);

/* PRIORITY is one of <syslog.h>; those from LOG_NOTICE on are notes, which quiet hides. */
void journal_tell(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
