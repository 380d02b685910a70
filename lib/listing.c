/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "listing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK 32768

struct listing {
	char *entries; /* one after the other */
	size_t length, size;
};

long
listing_read(int fd, char *buffer, size_t size)
{
	long n = syscall(SYS_getdents64, fd, buffer, size);

	return n < 0 && errno == ENOENT ? 0 : n;
}

static bool
grow(struct listing *listing)
{
	size_t size = listing->size ? 2 * listing->size : CHUNK;
	char *entries = realloc(listing->entries, size);

	if (!entries)
		return false;
	listing->entries = entries;
	listing->size = size;
	return true;
}

static int
read_some(int fd, size_t limit, struct listing *listing)
{
	size_t room;
	long n;

	do {
		if (listing->size - listing->length < CHUNK && !grow(listing))
			return -1;
		room = listing->size - listing->length;
		if (room > CHUNK && room > limit - listing->length)
			room = limit - listing->length > CHUNK ? limit - listing->length : CHUNK;
		n = listing_read(fd, listing->entries + listing->length, room);
		if (n > 0)
			listing->length += (size_t)n;
	} while (n > 0 && listing->length < limit);
	return n < 0 ? -1 : 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct listing_entry *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static int
by_inode(const void *a, const void *b)
{
	const struct listing_entry *const *left = a, *const *right = b;

	return ((*left)->inode > (*right)->inode) - ((*left)->inode < (*right)->inode);
}

static const struct listing_entry *
entry_at(const struct listing *listing, size_t at)
{
	return (const void *)(listing->entries + at);
}

/* A copy of the entries, in order; NULL where memory is short. *POSITION: after the last one read. */
static char *
sort(const struct listing *listing, enum listing_order by, int64_t *position)
{
	char *sorted = malloc(listing->length + 1);
	const struct listing_entry **order;
	size_t count = 0, at;

	for (at = 0; at < listing->length; at += entry_at(listing, at)->size)
		count++;
	order = malloc((count + 1) * sizeof *order);
	if (sorted && order) {
		count = 0;
		for (at = 0; at < listing->length; at += entry_at(listing, at)->size)
			order[count++] = entry_at(listing, at);
		if (count)
			*position = order[count - 1]->position;
		qsort(order, count, sizeof *order, by == LISTING_BY_NAME ? by_name : by_inode);
		at = 0;
		for (size_t i = 0; i < count; at += order[i++]->size)
			memcpy(sorted + at, order[i], order[i]->size);
	} else {
		free(sorted);
		sorted = NULL;
	}
	free(order);
	return sorted;
}

int
listing_sorted(int fd, enum listing_order order, size_t limit, char **buffer, size_t *length,
    int64_t *position)
{
	struct listing listing = { 0 };
	int result = read_some(fd, limit, &listing), error = errno;

	*buffer = sort(&listing, order, position);
	*length = *buffer ? listing.length : 0;
	free(listing.entries);
	errno = *buffer ? error : ENOMEM;
	return *buffer ? result : -1;
}
