/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "diag.h"
#include "esc.h"
#include "num.h"
#include "status.h"

#define CLOSED_PIPE 141 /* 128 + SIGPIPE */

const struct out_value out_unknown;

struct out_value
out_number(uint64_t number)
{
	return (struct out_value) { .known = true, .number = number };
}

struct out_value
out_real(double real)
{
	return (struct out_value) { .known = true, .real = real };
}

struct out_value
out_string(const char *string)
{
	return (struct out_value) { .known = string != NULL, .string = string };
}

struct out_value
out_percent(uint64_t part, uint64_t whole)
{
	return whole ? out_real(100.0 * (double)part / (double)whole) : out_unknown;
}

int
out_format_named(const char *name, void *format)
{
	static const char *const names[] = { "text", "tsv", "kv", "json", "prom" };

	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*(enum out_format *)format = (enum out_format)i;
			return 0;
		}
	}
	errno = EINVAL;
	return -1;
}

void
out_help(const struct out_table *table, FILE *stream)
{
	fprintf(stream, "\nfields of tsv, kv and json:\n");
	for (int i = 0; i < table->count; i++)
		fprintf(stream, "  %-23s %s\n", table->fields[i].name, table->fields[i].help);
}

int
out_flush(FILE *stream)
{
	return fflush(stream) != 0 || ferror(stream) ? -1 : 0;
}

/* A number in any format but text; prom wants ratios from 0 to 1. */
static void
put_plain(FILE *stream, const struct out_field *field, const struct out_value *value, bool prom)
{
	switch (field->kind) {
	case OUT_STRING:
		break;
	case OUT_COUNT:
	case OUT_BYTES:
		fprintf(stream, "%llu", (unsigned long long)value->number);
		break;
	case OUT_PERCENT:
		if (prom)
			fprintf(stream, "%.6f", value->real / 100);
		else
			fprintf(stream, "%.2f", value->real);
		break;
	case OUT_SECONDS:
	case OUT_TIME:
		fprintf(stream, "%.3f", value->real);
		break;
	case OUT_STATUS:
		if (prom)
			fprintf(stream, "%u", (unsigned)value->number);
		else
			fputs(status_name((enum status)value->number), stream);
		break;
	}
}

static void
format_column(char *cell, size_t size, const struct out_column *column,
    const struct out_field *field, const struct out_value *value)
{
	time_t seconds;
	struct tm local;
	FILE *stream = fmemopen(cell, size, "w");

	cell[0] = '\0';
	if (!stream)
		return;
	if (!value->known)
		fputs("-", stream);
	else if (field->kind == OUT_BYTES && column->mebi)
		fprintf(stream, "%llu", (unsigned long long)(value->number >> 20));
	else if (field->kind == OUT_BYTES)
		fputs(num_human(value->number, (char[NUM_HUMAN]) { 0 }), stream);
	else if (field->kind == OUT_TIME) {
		seconds = (time_t)value->real;
		localtime_r(&seconds, &local);
		fprintf(stream, "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
	} else {
		put_plain(stream, field, value, false);
		if (field->kind == OUT_PERCENT)
			fputc('%', stream);
	}
	fclose(stream);
}

static void
text_row(struct out *out, const struct out_value *values)
{
	const struct out_column *column;
	char cell[64];

	if (!out->headed && !out->silent) {
		for (column = out->table->columns; column->head; column++)
			fprintf(out->stream, "%*s%s", column->width, column->head,
			    column[1].head ? " " : "\n");
	}
	for (column = out->table->columns; column->head; column++) {
		const struct out_field *field = &out->table->fields[column->field];
		const struct out_value *value = &values[column->field];

		if (field->kind == OUT_STRING && value->known)
			esc_terminal(out->stream, value->string);
		else {
			format_column(cell, sizeof cell, column, field, value);
			fprintf(out->stream, "%*s", column->width, cell);
		}
		fputs(column[1].head ? " " : "\n", out->stream);
	}
}

static void
tsv_row(struct out *out, const struct out_value *values)
{
	const struct out_field *fields = out->table->fields;
	int count = out->table->count;

	if (!out->headed) {
		for (int i = 0; i < count; i++)
			fprintf(out->stream, "%s%c", fields[i].name, i + 1 < count ? '\t' : '\n');
	}
	for (int i = 0; i < count; i++) {
		if (values[i].known && fields[i].kind == OUT_STRING)
			esc_tsv(out->stream, values[i].string);
		else if (values[i].known)
			put_plain(out->stream, &fields[i], &values[i], false);
		fputc(i + 1 < count ? '\t' : '\n', out->stream);
	}
}

static void
kv_row(struct out *out, const struct out_value *values)
{
	const struct out_field *fields = out->table->fields;

	if (out->headed)
		fputc('\n', out->stream);
	for (int i = 0; i < out->table->count; i++) {
		fprintf(out->stream, "%s=", fields[i].name);
		if (values[i].known && fields[i].kind == OUT_STRING)
			esc_shell(out->stream, values[i].string);
		else if (values[i].known)
			put_plain(out->stream, &fields[i], &values[i], false);
		fputc('\n', out->stream);
	}
}

static void
json_row(struct out *out, const struct out_value *values)
{
	const struct out_field *fields = out->table->fields;

	for (int i = 0; i < out->table->count; i++) {
		fprintf(out->stream, "%s\"%s\":", i ? "," : "{", fields[i].name);
		if (!values[i].known)
			fputs("null", out->stream);
		else if (fields[i].kind == OUT_STRING)
			esc_json(out->stream, values[i].string);
		else if (fields[i].kind == OUT_STATUS)
			esc_json(out->stream, status_name((enum status)values[i].number));
		else
			put_plain(out->stream, &fields[i], &values[i], false);
	}
	fputs("}\n", out->stream);
}

static void
put_labels(FILE *stream, const struct out_table *table, const struct out_value *values)
{
	const char *lead = "{";

	for (int i = 0; i < table->count; i++) {
		if (table->fields[i].kind != OUT_STRING || !table->fields[i].metric || !values[i].known)
			continue;
		fprintf(stream, "%s%s=", lead, table->fields[i].metric);
		esc_label(stream, values[i].string);
		lead = ",";
	}
	if (*lead == ',')
		fputc('}', stream);
}

static const char *
metric_suffix(const struct out *out, const struct out_field *field)
{
	return out->running && field->counts ? "_total" : "";
}

static int
prom_row(struct out *out, const struct out_value *values)
{
	const struct out_table *table = out->table;

	for (int i = 0; i < table->count; i++) {
		const struct out_field *field = &table->fields[i];
		struct out_samples *samples = &out->samples[i];

		if (field->kind == OUT_STRING || !field->metric || !values[i].known)
			continue;
		if (!samples->stream)
			samples->stream = open_memstream(&samples->text, &samples->length);
		if (!samples->stream)
			return -1;
		fprintf(samples->stream, "hotset_%s%s", field->metric, metric_suffix(out, field));
		put_labels(samples->stream, table, values);
		fputc(' ', samples->stream);
		put_plain(samples->stream, field, &values[i], true);
		fputc('\n', samples->stream);
	}
	return 0;
}

static int
prom_commit(struct out *out)
{
	for (int i = 0; i < out->table->count; i++) {
		const struct out_field *field = &out->table->fields[i];
		struct out_samples *samples = &out->samples[i];
		const char *suffix = metric_suffix(out, field);

		if (!samples->stream)
			continue;
		if (fclose(samples->stream) != 0)
			return -1;
		samples->stream = NULL;
		fprintf(out->stream, "# HELP hotset_%s%s %s\n# TYPE hotset_%s%s %s\n%s",
		    field->metric, suffix, field->help, field->metric, suffix,
		    *suffix ? "counter" : "gauge", samples->text);
		free(samples->text);
		samples->text = NULL;
	}
	return 0;
}

/* Whether PATH is, or can become, a regular file: anything else must not be
 * replaced by one. */
static bool
is_replaceable(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || S_ISREG(status.st_mode);
}

/* The mode that a plain open(2) would give, or that the file has now. */
static mode_t
file_mode(const char *path)
{
	struct stat status;
	mode_t mask;

	if (stat(path, &status) == 0)
		return status.st_mode & 07777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static int
open_temporary(struct out *out)
{
	int fd;

	if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
		out->temporary = NULL;
		return -1;
	}
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd < 0) {
		free(out->temporary);
		out->temporary = NULL;
		return -1;
	}
	fchmod(fd, file_mode(out->path));
	return fd;
}

static int
begin(struct out *out)
{
	int fd;

	if (out->stream)
		return 0;
	if (!out->path) {
		out->stream = out->fallback;
		return 0;
	}
	fd = is_replaceable(out->path) ? open_temporary(out)
				       : open(out->path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	out->stream = fdopen(fd, "w");
	if (!out->stream) {
		close(fd);
		return -1;
	}
	out->headed = false;
	return 0;
}

int
out_open(struct out *out, const struct out_table *table, enum out_format format,
    const char *path, FILE *stream)
{
	*out = (struct out) { .table = table, .format = format, .fallback = stream };
	if (path) {
		/* a report goes where a symbolic link points, it does not replace the link */
		out->path = realpath(path, NULL);
		if (!out->path && errno != ENOENT)
			return -1;
		if (!out->path && !(out->path = strdup(path)))
			return -1;
	}
	out->samples = calloc((size_t)table->count, sizeof *out->samples);
	return out->samples ? begin(out) : -1;
}

int
out_row(struct out *out, const struct out_value *values)
{
	if (begin(out) < 0)
		return -1;
	switch (out->format) {
	case OUT_TEXT:
		text_row(out, values);
		break;
	case OUT_TSV:
		tsv_row(out, values);
		break;
	case OUT_KV:
		kv_row(out, values);
		break;
	case OUT_JSON:
		json_row(out, values);
		break;
	case OUT_PROM:
		if (prom_row(out, values) < 0)
			return -1;
		break;
	}
	out->headed = true;
	return ferror(out->stream) ? -1 : 0;
}

int
out_line(struct out *out, const char *line)
{
	if (begin(out) < 0)
		return -1;
	esc_terminal(out->stream, line);
	fputc('\n', out->stream);
	return ferror(out->stream) ? -1 : 0;
}

static void
drop_temporary(struct out *out)
{
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	out->temporary = NULL;
}

/* Closes the stream of a path; what was written stays only where all went well. */
static int
commit_path(struct out *out)
{
	FILE *stream = out->stream;
	int failed = out_flush(stream) < 0;

	out->stream = NULL;
	if (out->temporary)
		failed = failed || fsync(fileno(stream)) < 0;
	failed = fclose(stream) != 0 || failed;
	if (out->temporary)
		failed = failed || rename(out->temporary, out->path) < 0;
	if (failed) {
		int error = errno;

		drop_temporary(out);
		errno = error;
		return -1;
	}
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

int
out_commit(struct out *out)
{
	if (begin(out) < 0)
		return -1;
	if (out->format == OUT_PROM && prom_commit(out) < 0)
		return -1;
	return out->path ? commit_path(out) : out_flush(out->stream);
}

void
out_close(struct out *out)
{
	if (out->path && out->stream)
		fclose(out->stream);
	drop_temporary(out);
	for (int i = 0; out->samples && i < out->table->count; i++) {
		if (out->samples[i].stream)
			fclose(out->samples[i].stream);
		free(out->samples[i].text);
	}
	free(out->samples);
	free((char *)out->path);
	*out = (struct out) { 0 };
}

int
out_explain(const struct out *out)
{
	if (errno == EPIPE)
		return CLOSED_PIPE;
	diag_file(out->path ? out->path : "output", errno);
	return STATUS_FAILED;
}
