/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SELECT_H
#define HOTSET_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num.h"
#include "opts.h"

/*
 * Which files a tool looks at: what resident, warm and lock take in common.
 */
struct select {
	const char *files_from; /* a list of names, "-" for standard input */
	bool nul;               /* the list's names end with NUL */
	bool nul_output;        /* -0 is about what is written, too: it needs no list */
	bool follow;            /* symbolic links are followed */
	bool one_file_system;
	bool count_links;                   /* each hard link counts */
	uint64_t max_file_size;             /* bytes; larger files are left out */
	struct num_range range;             /* bytes of each file */
	struct opts_words include, exclude; /* globs */
};

/* The initial values: everything. */
#define SELECT_ALL                                                                                 \
	{                                                                                          \
		.max_file_size = UINT64_MAX, .range = { 0, UINT64_MAX }                            \
	}

extern const struct opts_option select_options[];

/*
 * Whether the COUNT operands go with the options: reports what does not, and returns
 * STATUS_UNKNOWN for it, else STATUS_DONE.
 */
int
select_check(const struct select *select, enum out_format format, char **operands, size_t count);

/* Whether one of these, or a name that a list may hold, is seen from the working folder. */
bool select_is_relative(const struct select *select, char **operands, size_t count);

/*
 * Whether the globs let the file at PATH (whose last component is NAME) in. A
 * glob with a slash is matched against the path, one without against the name.
 */
bool select_admits(const struct select *select, const char *path, const char *name);

/* Whether an exclude glob leaves out the folder at PATH with all below it. */
bool select_prunes(const struct select *select, const char *path, const char *name);

#endif
