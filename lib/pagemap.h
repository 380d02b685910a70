/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PAGEMAP_H
#define HOTSET_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The page frames behind our mappings, as the kernel numbers them for who has CAP_SYS_ADMIN, and
 * what /proc has of each frame. */

/* Opens that of ourselves, for pagemap_frames; -1 with errno. */
int pagemap_open(void);

/* The frames of COUNT pages from ADDRESS on: 0 where none is mapped, or it is not for us. */
void pagemap_frames(int pagemap, const char *address, uint64_t *frames, size_t count);

/* Whether we are told the frame of a page that we have: who has no CAP_SYS_ADMIN, such as root in a
 * container, can open the file all the same (Linux 4.2). */
bool pagemap_tells(int pagemap);

/* Reads COUNT numbers from number FIRST of FD on, as /proc/kpageflags and its like have one for
 * each frame; returns how many there were. */
size_t pagemap_numbers(int fd, uint64_t first, uint64_t *numbers, size_t count);

#endif
