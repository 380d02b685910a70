/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "past.h"

#include <stdlib.h>
#include <string.h>

static void
free_file(struct past_file *file)
{
	free((char *)file->then.path);
	snapshot_ranges_free(&file->then.ranges);
}

/* Takes over what the reader has read, with its ranges. */
static int
take(struct past *past, struct snapshot_reader *reader)
{
	struct past_file *file;
	char *path;

	if (past->count == past->size) {
		size_t size = past->size ? 2 * past->size : 64;
		struct past_file *larger = realloc(past->files, size * sizeof *larger);

		if (!larger)
			return -1;
		past->files = larger;
		past->size = size;
	}
	path = strdup(reader->file.path);
	if (!path)
		return -1;
	file = &past->files[past->count++];
	*file = (struct past_file){ .then = reader->file };
	file->then.path = path;
	reader->file.ranges = (struct snapshot_ranges){ 0 };
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	const struct past_file *left = a, *right = b;

	return strcmp(left->then.path, right->then.path);
}

/* The same path twice: the later one stays. A merge sort, since qsort may exchange them. */
static void
merge(struct past_file *files, size_t count, struct past_file *spare)
{
	size_t half = count / 2, left = 0, right = half;

	if (count < 2)
		return;
	merge(files, half, spare);
	merge(files + half, count - half, spare);
	for (size_t i = 0; i < count; i++) {
		bool take_left = right == count ||
		    (left < half && by_path(&files[left], &files[right]) <= 0);

		spare[i] = files[take_left ? left++ : right++];
	}
	memcpy(files, spare, count * sizeof *files);
}

static int
sort(struct past *past)
{
	struct past_file *spare = calloc(past->count + 1, sizeof *spare);
	size_t kept = 0;

	if (!spare)
		return -1;
	merge(past->files, past->count, spare);
	free(spare);
	for (size_t i = 0; i < past->count; i++) {
		if (kept && by_path(&past->files[kept - 1], &past->files[i]) == 0)
			free_file(&past->files[--kept]);
		past->files[kept++] = past->files[i];
	}
	past->count = kept;
	return 0;
}

int
past_load(struct past *past, struct snapshot_reader *reader)
{
	int got;

	*past = (struct past){ 0 };
	while ((got = snapshot_next(reader)) > 0)
		if (take(past, reader) < 0)
			return -1;
	return got < 0 ? -1 : sort(past);
}

/* The first file for which COMPARE does not say that it comes before KEY. */
static size_t
find(const struct past *past, const char *key, int (*compare)(const char *path, const char *key))
{
	size_t from = 0, to = past->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(past->files[middle].then.path, key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct past_file *
past_find(const struct past *past, const char *path)
{
	size_t at = find(past, path, strcmp);

	if (at == past->count || strcmp(past->files[at].then.path, path) != 0)
		return NULL;
	return &past->files[at];
}

/* As strcmp with FOLDER and a slash; 0 for all that is below it. */
static int
compare_below(const char *path, const char *folder)
{
	size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	int order = strncmp(path, folder, length);

	return order ? order : (unsigned char)path[length] - '/';
}

struct past_file *
past_below(const struct past *past, const char *folder, size_t *count)
{
	size_t first = find(past, folder, compare_below), end = first;

	while (end < past->count && compare_below(past->files[end].then.path, folder) == 0)
		end++;
	*count = end - first;
	return past->files ? &past->files[first] : NULL;
}

void
past_free(struct past *past)
{
	while (past->count)
		free_file(&past->files[--past->count]);
	free(past->files);
	*past = (struct past){ 0 };
}
