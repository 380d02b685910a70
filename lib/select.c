/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

#define FIELD(name) offsetof(struct select, name)

const struct opts_option select_options[] = {
	{ 'T', "files-from", "FILE", opts_text, FIELD(files_from),
	    "read operands from FILE, one a line; - is standard input" },
	{ '0', "null", NULL, opts_flag, FIELD(nul), "names in that FILE end with NUL" },
	{ 'L', "follow", NULL, opts_flag, FIELD(follow), "follow symbolic links" },
	{ 'x', "one-file-system", NULL, opts_flag, FIELD(one_file_system),
	    "do not enter folders on other file systems" },
	{ 'm', "max-file-size", "SIZE", opts_size, FIELD(max_file_size),
	    "leave out files larger than SIZE (4k, 10M, 2G)" },
	{ 'p', "range", "RANGE", opts_range, FIELD(range), "only OFFSET[:LENGTH] of each file" },
	{ 0, "include", "GLOB", opts_list, FIELD(include), "only files that match; repeatable" },
	{ 0, "exclude", "GLOB", opts_list, FIELD(exclude),
	    "no files or folders that match; repeatable" },
	{ 0, "count-links", NULL, opts_flag, FIELD(count_links), "count each hard link" },
	{ 0 },
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that is there twice among the operands and the list's; NULL where none is. */
static const char *
repeated(const struct select *select, char **operands, size_t count)
{
	const char **names = calloc(count + 1, sizeof *names), *found = NULL;

	if (!names)
		return NULL;
	memcpy(names, operands, count * sizeof *names);
	if (select->files_from)
		names[count++] = select->files_from;
	qsort(names, count, sizeof *names, by_name);
	for (size_t i = 1; i < count && !found; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			found = names[i];
	free(names);
	return found;
}

int
select_check(const struct select *select, enum out_format format, char **operands, size_t count)
{
	const char *twice;

	if (count == 0 && !select->files_from)
		return opts_misuse("no file, folder or block device given");
	if (select->nul && !select->files_from && !select->nul_output)
		return opts_misuse("-0 is about the list of --files-from, which is not given");
	/* two samples of a metric with the same labels: Prometheus refuses all of them */
	if (format == OUT_PROM && (twice = repeated(select, operands, count)))
		return opts_misuse("%s is given twice: in prom, each name has one row", twice);
	return STATUS_DONE;
}

bool
select_is_relative(const struct select *select, char **operands, size_t count)
{
	bool relative = select->files_from;

	for (size_t i = 0; i < count; i++)
		relative |= *operands[i] != '/';
	return relative;
}

/* As find -path does, "*" and "?" match slashes too. */
static bool
matches(const struct opts_words *globs, const char *path, const char *name)
{
	for (size_t i = 0; i < globs->count; i++) {
		const char *glob = globs->words[i];

		if (fnmatch(glob, strchr(glob, '/') ? path : name, 0) == 0)
			return true;
	}
	return false;
}

bool
select_admits(const struct select *select, const char *path, const char *name)
{
	if (select->include.count && !matches(&select->include, path, name))
		return false;
	return !matches(&select->exclude, path, name);
}

bool
select_prunes(const struct select *select, const char *path, const char *name)
{
	return matches(&select->exclude, path, name);
}
