/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PATIENT_H
#define HOTSET_PATIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PATIENT_FOREVER UINT64_MAX

/*
 * What others have, too (a pipe, a terminal, a socket), cannot be made one that does not block;
 * and stop.h blocks the signals that should end us. So nothing is written to it until it takes it.
 *
 * Who waits for ever waits for a moment only once a stop is asked for (stop_asked), and after
 * that not at all.
 */

/*
 * Writes LENGTH bytes to FD. Waits PATIENCE ns at most while it takes nothing: 0, or
 * -1 with errno, EAGAIN where that is over. *WRITTEN is how much was, NULL: nobody asks.
 */
int patient_write(int fd, const void *bytes, size_t length, uint64_t patience, size_t *written);

/*
 * A stream that writes to FD so, for ever; CLOSES: and closes it at its end. Line by line where
 * that is a terminal. Nothing more is written after the first error, ETIMEDOUT where nobody read
 * until we were to stop. NULL with ENOMEM.
 */
FILE *patient_stream(int fd, bool closes);

/* Who waits for ever calls MEANWHILE with ARGUMENT, several times a second. */
void patient_meanwhile(void (*meanwhile)(void *), void *argument);

#endif
