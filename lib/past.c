/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "past.h"

#include <stdlib.h>
#include <string.h>

/* Takes over what the reader has read, with its ranges. */
static int
take(struct past *past, struct snapshot_reader *reader)
{
	struct past_file *file = malloc(sizeof *file + strlen(reader->path) + 1);

	if (!file)
		return -1;
	file->then = reader->file;
	file->then.path = strcpy(file->path, reader->path);
	file->seen = false;
	file->last = past->last;
	reader->file.ranges = (struct snapshot_ranges){ 0 };
	past->last = file;
	past->count++;
	return 0;
}

static int
compare_files(const struct past_file *a, const struct past_file *b)
{
	return strcmp(a->path, b->path);
}

/* By path, and what has the same as they came: a merge sort, since qsort may exchange them. */
static void
sort(struct past_file **files, size_t count, struct past_file **spare)
{
	size_t half = count / 2, left = 0, right = half;

	if (count < 2)
		return;
	sort(files, half, spare);
	sort(files + half, count - half, spare);
	for (size_t i = 0; i < count; i++) {
		bool take_left = right == count ||
		    (left < half && compare_files(files[left], files[right]) <= 0);

		spare[i] = files[take_left ? left++ : right++];
	}
	memcpy(files, spare, count * sizeof *files);
}

static int
arrange(struct past *past)
{
	struct past_file **files = calloc(2 * past->count + 1, sizeof(struct past_file *));
	struct past_file *file = past->last;
	size_t kept = 0;

	if (!files)
		return -1;
	for (size_t i = past->count; i > 0; file = file->last)
		files[--i] = file;
	sort(files, past->count, files + past->count);
	for (size_t i = 0; i < past->count; i++) {
		if (kept && compare_files(files[kept - 1], files[i]) == 0)
			kept--;
		files[kept++] = files[i];
	}
	past->files = files;
	past->count = kept;
	return 0;
}

int
past_load(struct past *past, struct snapshot_reader *reader)
{
	int got;

	while ((got = snapshot_next(reader)) > 0)
		if (take(past, reader) < 0)
			return -1;
	return got < 0 ? -1 : arrange(past);
}

/* The first file for which COMPARE does not say that it comes before KEY. */
static size_t
find(const struct past *past, const char *key, int (*compare)(const char *path, const char *key))
{
	size_t from = 0, to = past->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(past->files[middle]->path, key) < 0)
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

	if (at == past->count || strcmp(past->files[at]->path, path) != 0)
		return NULL;
	return past->files[at];
}

/* As strcmp with FOLDER and a slash; 0 for all that is below it. */
static int
compare_below(const char *path, const char *folder)
{
	size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	int order = strncmp(path, folder, length);

	return order ? order : (unsigned char)path[length] - '/';
}

struct past_file **
past_below(const struct past *past, const char *folder, size_t *count)
{
	size_t first = find(past, folder, compare_below), end = first;

	while (end < past->count && compare_below(past->files[end]->path, folder) == 0)
		end++;
	*count = end - first;
	return past->files ? &past->files[first] : NULL;
}
