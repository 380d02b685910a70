/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CLAIMS_H
#define HOTSET_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "each.h"
#include "num.h"

/*
 * Which files were seen in memory, and how much of each: so that they can be looked at once more.
 * In some 20 bytes a file, as long as names and inodes are much like those before.
 */
struct claims {
	unsigned char *bytes;
	size_t length, size;
	struct claims_last {
		char *path;
		size_t path_size;
		uint64_t operand, device, inode;
	} last;
};

struct claim {
	const char *path;
	uint64_t operand, device, inode;
	bool disk;         /* a block device */
	uint64_t resident; /* bytes */
	const struct num_range *parts;
	size_t part_count; /* not 0 */
};

/* Adds RESIDENT bytes of FILE; -1 with ENOMEM. */
int claims_add(struct claims *claims, const struct each_file *file, uint64_t resident);

/* Reads them again, in that order; zeroed at first, but for claims. */
struct claims_reader {
	const struct claims *claims;

	/* its own */
	size_t at;
	struct claims_last last;
	struct num_range *parts;
	size_t parts_size;
};

/* The next into *CLAIM, valid until the next call: 1, 0 where there are no more, -1 with ENOMEM. */
int claims_next(struct claims_reader *reader, struct claim *claim);

void claims_reader_free(struct claims_reader *reader);
void claims_free(struct claims *claims);

#endif
