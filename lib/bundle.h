/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BUNDLE_H
#define HOTSET_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "preload.h"

/*
 * Brings small files into the page cache together: all are asked for before the first is waited
 * for, so that the device has many to choose among, and reads of neighbours become one. Then each
 * is read, which is the proof that it has come: nothing of it need be mapped. Mapping many files,
 * in several threads, takes more time than reading them (measured on files of 5 KB, Linux 6.18:
 * the threads wait for each other's mmap_lock).
 */

#define BUNDLE_FILES     64         /* at most */
#define BUNDLE_IN_FLIGHT (8U << 20) /* bytes asked for at once, of all files */

struct bundle_file {
	int fd;
	const struct stat *status;
	struct preload *result;
};

/* Whether the LENGTH bytes from OFFSET of FD are what a bundle takes: small, and all of it. */
bool bundle_takes(int fd, const struct stat *status, uint64_t offset, uint64_t length);

/* As preload_range, for all of COUNT files. */
void bundle_load(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks);

/* Only reads all of COUNT files, and measures nothing: sets read, and error. For who proves by other
 * means that they are there. Of files of up to BUNDLE_SMALL bytes no more than BUNDLE_IN_FLIGHT are on
 * the way. */
#define BUNDLE_SMALL (BUNDLE_IN_FLIGHT / BUNDLE_FILES)
void bundle_read(const struct bundle_file *files, size_t count);

#endif
