/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BUNDLE_H
#define HOTSET_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "preload.h"

/*
 * Brings small files into the page cache together. They are mapped side by side, so that one
 * madvise(2) asks for all of them: the kernel collects the reads of one call (a plug), joins
 * those that are neighbours on the device, and hands them over at once, without a copy. And one
 * mincore(2) looks at all of them. Measured on 200,000 files of 5 KB: a fifth of the processor
 * time of opening and reading them one by one.
 */

#define BUNDLE_FILES 64 /* at most */

struct bundle_file {
	int fd;
	const struct stat *status;
	struct preload *result;
};

/* Whether the LENGTH bytes from OFFSET of FD are what a bundle takes: small, and all of it. */
bool bundle_takes(int fd, const struct stat *status, uint64_t offset, uint64_t length);

/* As preload_range, for all of COUNT files. */
void bundle_load(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks);

#endif
