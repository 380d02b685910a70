/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FETCH_H
#define HOTSET_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "device.h"

/* Reads parts of a file for the page cache alone: nobody looks at what is read. */
struct fetch {
	int fd;
	size_t piece; /* bytes of one read */
	char *buffer; /* NULL: sent to null instead */
	int null;     /* /dev/null; -1: not open */
};

/*
 * Begins with FD, open for reading, from DEVICE. AHEAD: the kernel may read on past what is
 * asked for, the whole file is wanted. -1 with ENOMEM.
 */
int fetch_begin(struct fetch *fetch, int fd, const struct device *device, bool ahead);

/* Reads up to LENGTH bytes from OFFSET, at most a piece: as pread(2). */
ssize_t fetch_read(struct fetch *fetch, uint64_t offset, uint64_t length);

void fetch_end(struct fetch *fetch);

#endif
