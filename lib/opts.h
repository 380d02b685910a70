/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OPTS_H
#define HOTSET_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out.h"

/*
 * Options, from one table per tool: parsing and --help both come from it.
 * POSIX syntax: options before operands, "--" ends them, short and long names.
 */

/*
 * Stores ARGUMENT (NULL for a flag) in the field of the options struct that
 * the table names; returns 0, or -1 with errno EINVAL, ERANGE or ENOMEM.
 */
typedef int opts_store(void *field, const char *argument);

struct opts_option {
	int letter;           /* 0: long name only */
	const char *name;     /* NULL ends a table */
	const char *argument; /* what --help calls it; NULL: a flag */
	opts_store *store;
	size_t field; /* offset in the options struct */
	const char *help;
};

opts_store opts_flag;     /* bool: true */
opts_store opts_increase; /* int: one more each time */
opts_store opts_text;     /* const char * */
opts_store opts_list;     /* struct opts_words: one more each time */
opts_store opts_count;    /* uint64_t */
opts_store opts_size;     /* uint64_t, bytes */
opts_store opts_duration; /* uint64_t, nanoseconds */
opts_store opts_percent;  /* double */
opts_store opts_share;    /* struct num_share */
opts_store opts_range;    /* struct num_range */
opts_store opts_pid;      /* pid_t */

struct opts_words {
	const char **words;
	size_t count;
};

/* A table and the struct that its fields lie in. */
struct opts_group {
	const struct opts_option *options;
	void *base;
};

/* What all five tools take. */
struct opts_common {
	bool quiet;
	int verbose;
	enum out_format format;
	const char *output; /* NULL: standard output */
	uint64_t timeout;   /* nanoseconds, 0: none */
	bool ended;         /* a "--" ended the options */
};

struct opts_tool {
	const char *name;
	const char *synopsis; /* one line or more, without the name, "\n" between */
	const char *summary;
	const struct out_table *tables[4]; /* of its modes; NULL ends them */
};

/*
 * Reads the command line into the structs of GROUPS (which end with a NULL
 * table) and COMMON; sets up diag. Returns the index of the first operand.
 * Where there is nothing more to do (--help and --version write to standard
 * output, a mistake to standard error), returns -1 and sets *STATUS.
 */
int opts_parse(const struct opts_tool *tool, const struct opts_group *groups,
    struct opts_common *common, int argc, char **argv, int *status);

/*
 * What is behind the options, FIRST being what opts_parse returned, and COMMON what it set:
 * operands, until a "--" that starts a command. One that ended the options is that, too.
 */
struct opts_operands {
	char **words;
	size_t count;
	char **command; /* NULL: none; empty: a "--" with nothing behind it */
};
struct opts_operands opts_split(int argc, char **argv, int first, const struct opts_common *common);

/*
 * For operands that never begin with a dash (but for "-" and numbers): whether one of the COUNT
 * WORDS does, an option that came too late, which is reported.
 */
bool opts_late(char **words, size_t count);

/* Reports a mistake that only the tool can see; returns STATUS_UNKNOWN. */
int opts_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
