/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MAP_H
#define HOTSET_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Which parts of a file are in memory, drawn as a line (chart.h). */

/*
 * How many parts fit in a line on FD: as COLUMNS says, or the terminal that it is;
 * without either, in 80 characters.
 */
size_t map_parts(int fd);

/*
 * Cuts LENGTH bytes from OFFSET (within the file's size) of FD into MOST parts of as many
 * pages, or into pages where there are fewer, and draws them. "unknown" where residency_query
 * does not know. To be freed; NULL with ENOMEM. Thread-safe.
 */
char *map_draw(int fd, const struct stat *status, uint64_t offset, uint64_t length, size_t most);

#endif
