/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ESC_H
#define HOTSET_ESC_H

#include <stdio.h>

/*
 * Names from the file system hold any byte but NUL. Each writer puts TEXT on
 * STREAM by the rule of one format, reversibly; errors are the stream's.
 */

/* People: control characters, backslash and invalid UTF-8 as \n, \t, \\, \xHH. */
void esc_terminal(FILE *stream, const char *text);

/* tsv cell: as for people, so that a tab or newline never ends the cell. */
void esc_tsv(FILE *stream, const char *text);

/* Undoes esc_tsv in place; -1 with EINVAL where TEXT is nothing that it writes: another
 * escape, NUL or a control character. */
int esc_undo(char *text);

/* POSIX shell word: in single quotes unless it holds only [A-Za-z0-9_./:@%+,-]. */
void esc_shell(FILE *stream, const char *text);

/* JSON string with its quotes; an invalid byte B becomes \udcB, as Python's
 * surrogateescape reads back. */
void esc_json(FILE *stream, const char *text);

/* Prometheus label value with its quotes, of the text as people see it (labels
 * must be UTF-8). */
void esc_label(FILE *stream, const char *text);

#endif
