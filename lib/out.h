/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OUT_H
#define HOTSET_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "replace.h"

/*
 * Reports in five formats, from one table of fields per tool. text is for
 * people and may change; tsv, kv, json and prom are interfaces.
 *
 * An unknown value is "-" in text, empty in tsv and kv, null in json and absent
 * in prom: never a number.
 */

#define OUT_FIELDS 64 /* no table has more */

enum out_format { OUT_TEXT, OUT_TSV, OUT_KV, OUT_JSON, OUT_PROM };

/* The format called NAME into *FORMAT (an enum out_format); -1 with EINVAL. */
int out_format_named(const char *name, void *format);

enum out_kind {
	OUT_STRING,
	OUT_COUNT,   /* number */
	OUT_BYTES,   /* number; text: 1.5G */
	OUT_PERCENT, /* part of whole: 0 to 100, two decimals; prom: 0 to 1. See num_portion */
	OUT_SECONDS, /* real, three decimals */
	OUT_TIME,    /* real, seconds since 1970 */
	OUT_STATUS,  /* number, an enum status by its name; prom: the number */
};

struct out_field {
	const char *name;
	enum out_kind kind;
	const char *metric; /* after "hotset_"; NULL: not a metric. A string: the label's name */
	bool counts;        /* a sum that a running tool reports as METRIC_total */
	const char *help;
	bool estimate; /* not known: text says so behind each figure, as names do elsewhere */
};

/* One column of text; a positive width aligns right, a negative one left. */
struct out_column {
	int field;
	const char *head; /* NULL ends the columns */
	int width;
	bool mebi; /* bytes as whole MiB */
};

struct out_table {
	const struct out_field *fields;
	int count;
	const struct out_column *columns;
	const char *mode; /* of the tool, that it is of; NULL: the usual one */
};

struct out_value {
	bool known;
	const char *shown; /* what text has in its place, NULL: the value itself */
	union {
		uint64_t number;
		double real;
		const char *string;
		struct {
			uint64_t part, whole;
		};
	};
};

struct out_value out_number(uint64_t number);
struct out_value out_sum(uint64_t sum); /* unknown where it is NUM_UNKNOWN (num.h) */
struct out_value out_real(double real);
struct out_value out_string(const char *string);
struct out_value out_percent(uint64_t part, uint64_t whole); /* unknown where WHOLE is 0 */
extern const struct out_value out_unknown;

struct out {
	const struct out_table *table;
	const int *from; /* where each field's value is in a row; NULL: in the same place */
	enum out_format format;
	bool running;        /* prom: sums are counters since the start */
	struct replace file; /* without a path where reports go to a stream */
	FILE *stream;        /* where rows go now */
	FILE *patient;       /* that, where it is no file (patient.h) */
	int fd;              /* what it writes to, -1: memory */
	bool headed;
	bool again; /* a report was ended before */
	struct out_samples {
		FILE *stream;
		char *text;
		size_t length;
	} * samples; /* prom: those of each field, since a metric's lines must be together */
};

/* Reports go to PATH, or where that is NULL or "-" to STREAM. Fails with ENOMEM, or with
 * what open(2) says where PATH cannot be written. Who reads is waited for as patient.h says. */
int out_open(struct out *out, const struct out_table *table, enum out_format format,
    const char *path, FILE *stream);

/* Adds a row: one value for each field of the table. */
int out_row(struct out *out, const struct out_value *values);

/* Adds a line of text, escaped for a terminal, in place of a row: format text only. */
int out_line(struct out *out, const char *line);

/* Ends a report: a file is replaced as a whole (replace.h), a stream is flushed. */
int out_commit(struct out *out);

/* The same where the report is WHOLE; of one that is not, a stream gets what there is, and
 * a file keeps the report that it has. */
int out_finish(struct out *out, bool whole);

/* Frees what is held; an uncommitted report to a path is gone. */
void out_close(struct out *out);

/* Flushes STREAM; -1 where it or an earlier write failed. */
int out_flush(FILE *stream);

/* Reports through diag that out failed with errno, and returns the exit status:
 * a closed pipe is quiet and 141, as if SIGPIPE had ended us; where nobody read until a signal
 * asked us to stop, it is 128 and that. */
int out_explain(const struct out *out);

/* The field list of --help. */
void out_help(const struct out_table *table, FILE *stream);

#endif
