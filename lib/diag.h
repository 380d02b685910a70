/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DIAG_H
#define HOTSET_DIAG_H

/*
 * Messages on standard error, each one line "tool: text" in one write(2), so
 * that lines of several threads or processes do not mix. Control characters
 * and invalid UTF-8 in the text are shown escaped: names in it are hostile.
 */

/* Sets the name before each message; verbosity -1 quiet, 0 normal, 1 verbose. */
void diag_init(const char *tool);
void diag_verbosity(int level);

/* The name that diag_init was given. */
const char *diag_tool(void);

/* An error: always shown. */
void diag_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error about one file: "tool: PATH: what errno says". */
void diag_file(const char *path, int error);

/* A note: not shown when quiet. */
void diag_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A detail: shown when verbose only. */
void diag_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * From now on a message that standard error does not take at once (a terminal that is stopped, a
 * pipe that is full) is left out, not waited for; how many were is told before the next.
 */
void diag_hurry(void);

/* How many errors were shown: a tool that showed one must not exit 0. */
unsigned long diag_errors(void);

#endif
