/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HOLES_H
#define HOTSET_HOLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Bytes of the holes in LENGTH bytes from OFFSET of FD, where holes are no matter of
 * the page cache: in tmpfs. To read one brings nothing in, and to lock one allocates
 * it until the file is removed. 0 for other files, and where it cannot be told.
 */
#define HOLES_WHY "not pinned: it has holes, which tmpfs would fill for good"
uint64_t holes_sum(int fd, uint64_t offset, uint64_t length);

/* Whether a file of this STATUS may have any: it may be one of tmpfs. */
bool holes_may_be(const struct stat *status);

/* Whether there are any; of a file on a disk, for nothing. */
bool holes_any(int fd, const struct stat *status, uint64_t offset, uint64_t length);

#endif
