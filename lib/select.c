/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "select.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

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
