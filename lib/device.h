/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DEVICE_H
#define HOTSET_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What a file is read from, as far as it decides how to read it best. */

enum device_kind { DEVICE_UNKNOWN, DEVICE_DISK, DEVICE_NETWORK };

/* Of an unknown device, what the kernel does with any. */
struct device {
	enum device_kind kind;
	bool seeks;        /* a rotating disk, where the order of reads matters */
	uint64_t ahead;    /* bytes that the kernel reads ahead of a reader */
	uint64_t call;     /* bytes that one call for readahead brings in at most (Linux 4.10) */
	uint64_t requests; /* that it takes at once; 0: not known */
};

/* Looks at the disk, or the partition of one, with number NUMBER in ROOT/sys, ROOT being "" but
 * in tests. */
void device_look(const char *root, dev_t number, struct device *device);

/* That of the file FD. Thread-safe; what was seen last is remembered. */
struct device device_of(int fd, const struct stat *status);

#endif
