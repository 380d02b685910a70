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

/*
 * All that is left to read of FD, in the order of their names as bytes: LENGTH bytes in
 * *BUFFER, to be freed. 0, or -1 with errno, and then what could be read.
 */
int listing_sorted(int fd, char **buffer, size_t *length);

#endif
