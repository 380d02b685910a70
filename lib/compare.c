/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fullpath.h"

/* "No data" as any other that a check may have to tell. */
static enum status
load(struct compare *compare, struct snapshot_reader *reader)
{
	int result = snapshot_open(reader, compare->path);

	if (result == 0)
		result = past_load(&compare->past, reader);
	if (result < 0)
		snapshot_explain(reader, compare->path);
	snapshot_close(reader);
	return result < 0 ? STATUS_UNKNOWN : STATUS_DONE;
}

enum status
compare_begin(struct compare *compare, const char *path, const struct select *select)
{
	static struct snapshot_reader reader;

	*compare = (struct compare){ .path = path, .select = select, .folder = getcwd(NULL, 0) };
	return load(compare, &reader);
}

char **
compare_paths(const struct compare *compare, size_t *count)
{
	const struct past *past = &compare->past;
	char **paths = calloc(past->count + 1, sizeof *paths);

	for (size_t i = 0; paths && i < past->count; i++)
		paths[i] = past->files[i]->path;
	*count = past->count;
	return paths;
}

int
compare_file(struct compare *compare, const struct each_file *file,
    const struct residency *residency, const struct snapshot_ranges *ranges, struct change *change)
{
	char *path = fullpath(compare->folder, file->path);
	struct past_file *then = path ? past_find(&compare->past, path) : NULL;
	struct snapshot_file now = { .ranges = *ranges };

	if (!path)
		return -1;
	free(path);
	if (then)
		then->seen = true;
	*change = (struct change){ 0 };
	if (file->error)
		change->errors = 1;
	else if (residency->method == RESIDENCY_UNKNOWN)
		change->files[CHANGE_UNKNOWN] = 1;
	else {
		snapshot_identify(&now, &file->status);
		change_compare(change, then ? &then->then : NULL, &now, &compare->select->range);
	}
	return 0;
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether globs and size would let it in: PATH is what it is called, whose first OPERAND
 * bytes are what it was looked for by. */
static bool
is_selected(const struct select *select, const struct snapshot_file *file, char *path,
    size_t operand)
{
	char *slash = path + operand;
	bool pruned = false;

	if (*slash)
		slash++;
	for (; !pruned && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		pruned = select_prunes(select, path, name_of(path));
		*slash = '/';
	}
	return !pruned && file->size <= select->max_file_size &&
	    select_admits(select, path, name_of(path));
}

/* What became of a file that was not seen: CHANGE has no file where it is there after all, for
 * one that was not selected. */
static void
look_for(const struct compare *compare, const struct snapshot_file *then, struct change *change)
{
	struct stat status;
	int result = stat(then->path, &status);

	*change = (struct change){ 0 };
	if (result < 0 && errno != ENOENT && errno != ENOTDIR)
		change->files[CHANGE_UNKNOWN] = 1;
	else if (result < 0 || !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)))
		change_gone(change, then, &compare->select->range);
}

/* One file of the snapshot that lies REST of its path below NAME. */
static int
find_gone(struct compare *compare, struct past_file *file, const char *name, const char *rest,
    compare_found *found, void *argument)
{
	size_t length = strlen(name);
	struct change change;
	char *path;

	if (file->seen)
		return 0;
	if (*rest == '/' && length && name[length - 1] == '/')
		rest++;
	path = malloc(length + strlen(rest) + 1);
	if (!path)
		return -1;
	strcpy(stpcpy(path, name), rest);
	if (is_selected(compare->select, &file->then, path, length)) {
		look_for(compare, &file->then, &change);
		file->seen = true;
		if (change.files[CHANGE_GONE] || change.files[CHANGE_UNKNOWN])
			found(path, &change, argument);
	}
	free(path);
	return 0;
}

int
compare_gone(struct compare *compare, const char *name, compare_found *found, void *argument)
{
	char *folder = fullpath(compare->folder, name);
	struct past_file *file, **below;
	size_t count, length;
	int result = 0;

	if (!folder)
		return -1;
	length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	file = past_find(&compare->past, folder);
	below = past_below(&compare->past, folder, &count);
	if (file)
		result = find_gone(compare, file, name, "", found, argument);
	for (size_t i = 0; i < count && result == 0; i++)
		result = find_gone(compare, below[i], name, below[i]->path + length, found,
		    argument);
	free(folder);
	return result < 0 ? -1 : file || count;
}
