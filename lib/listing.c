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
read_all(int fd, struct listing *listing)
{
	long n;

	do {
		if (listing->size - listing->length < CHUNK && !grow(listing))
			return -1;
		n = listing_read(fd, listing->entries + listing->length,
		    listing->size - listing->length);
		if (n > 0)
			listing->length += (size_t)n;
	} while (n > 0);
	return (int)n;
}

static int
by_name(const void *a, const void *b)
{
	const struct listing_entry *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static const struct listing_entry *
entry_at(const struct listing *listing, size_t at)
{
	return (const void *)(listing->entries + at);
}

/* A copy of the entries, in order; NULL where memory is short. */
static char *
sort(const struct listing *listing)
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
		qsort(order, count, sizeof *order, by_name);
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
listing_sorted(int fd, char **buffer, size_t *length)
{
	struct listing listing = { 0 };
	int result = read_all(fd, &listing), error = errno;

	*buffer = sort(&listing);
	*length = *buffer ? listing.length : 0;
	free(listing.entries);
	errno = *buffer ? error : ENOMEM;
	return *buffer ? result : -1;
}
