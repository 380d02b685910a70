/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SPOOL_H
#define HOTSET_SPOOL_H

#define SPOOL_PATH 32

/*
 * Makes a list readable more than once: NAME itself where it is a regular file, else ("-" and
 * /dev/stdin for standard input, a pipe) the path of a copy in memory, written into PATH. NULL with errno where it cannot be read: EINTR where stop_asked, EFBIG where the copy
 * would be larger than 64 MiB.
 */
const char *spool_list(const char *name, char path[static SPOOL_PATH]);

/* What such an errno means, and what would mend it. */
const char *spool_error(int error);

#endif
