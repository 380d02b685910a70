/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DEVICE_H
#define HOTSET_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What a file is read from, as far as it decides how to read it best. */

enum device_kind { DEVICE_UNKNOWN, DEVICE_DISK, DEVICE_NETWORK };

/* Of an unknown device, what the kernel does with any. */
struct device {
	enum device_kind kind;
	bool seeks;     /* a rotating disk, where the order of reads matters */
	uint64_t ahead; /* bytes that the kernel reads ahead of a reader */
	uint64_t call;  /* bytes that one call for readahead brings in at most (Linux 4.10) */
};

/*
 * What sysfs has as NAME of the queue of a disk, which is the device with number NUMBER or, of a
 * partition, above it: into TEXT of SIZE bytes, without a newline at the end. False where it has
 * nothing, and of what is no disk. ROOT is "" but in tests.
 */
bool device_says(const char *root, dev_t number, const char *name, char *text, size_t size);

/* Looks at the disk, or the partition of one, with number NUMBER. */
void device_look(const char *root, dev_t number, struct device *device);

/* That of the file FD. Thread-safe; a few that were seen last are remembered. */
struct device device_of(int fd, const struct stat *status);

/* That of what is called PATH, which may be NULL: not known, as where it cannot be opened. */
struct device device_under(const char *path);

#endif
