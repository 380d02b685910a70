/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LISTING_H
#define HOTSET_LISTING_H

#include <stddef.h>
#include <stdint.h>

/* The entries of a folder, as getdents64(2) fills them in. */
struct listing_entry {
	uint64_t inode;
	int64_t position; /* of the entry after it */
	unsigned short size;
	unsigned char type;
	char name[];
};

/*
 * Fills BUFFER of SIZE bytes with the next entries of FD; returns how many bytes, 0 at the
 * end (a removed folder has none), or -1 with errno.
 */
long listing_read(int fd, char *buffer, size_t size);

/* By name as bytes; by the numbers of their inodes, near which most file systems put files. */
enum listing_order { LISTING_BY_NAME, LISTING_BY_INODE };

/*
 * What is left to read of FD, but LIMIT bytes of it and 32 KiB at most, in ORDER: LENGTH bytes in
 * *BUFFER, to be freed, and where to go on in *POSITION. 0, or -1 with errno, and then what
 * could be read.
 */
int listing_sorted(int fd, enum listing_order order, size_t limit, char **buffer, size_t *length,
    int64_t *position);

#endif
