/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PATIENT_H
#define HOTSET_PATIENT_H

#include <stddef.h>
#include <stdint.h>

#define PATIENT_FOREVER UINT64_MAX

/*
 * Writes LENGTH bytes to FD, a pipe, a terminal or a socket that others have, too, so that it
 * cannot be made one that does not block. Waits PATIENCE ns at most while it takes nothing: 0, or
 * -1 with errno, EAGAIN where that is over. *WRITTEN is how much was, NULL: nobody asks.
 */
int patient_write(int fd, const void *bytes, size_t length, uint64_t patience, size_t *written);

#endif
