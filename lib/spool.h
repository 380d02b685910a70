/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SPOOL_H
#define HOTSET_SPOOL_H

#define SPOOL_PATH 32

/*
 * Makes a list readable more than once: NAME itself where it is a regular file, else
 * ("-" for standard input, a pipe) the path of a copy in memory, written into PATH.
 * NULL with errno where it cannot be read.
 */
const char *spool_list(const char *name, char path[static SPOOL_PATH]);

#endif
