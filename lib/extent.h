/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EXTENT_H
#define HOTSET_EXTENT_H

#include <stdint.h>

/* Where on its device the file FD begins, in bytes, as FIEMAP tells; UINT64_MAX where it does
 * not. Only good to compare with others on the same device. */
uint64_t extent_first(int fd);

#endif
