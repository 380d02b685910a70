/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "diag.h"
#include "esc.h"
#include "num.h"
#include "patient.h"
#include "status.h"
#include "stop.h"

#define CLOSED_PIPE 141 /* 128 + SIGPIPE */

const struct out_value out_unknown;

struct out_value
out_number(uint64_t number)
{
	return (struct out_value){ .known = true, .number = number };
}

struct out_value
out_real(double real)
{
	return (struct out_value){ .known = true, .real = real };
}

struct out_value
out_string(const char *string)
{
	return (struct out_value){ .known = string != NULL, .string = string };
}

struct out_value
out_percent(uint64_t part, uint64_t whole)
{
	return whole ? (struct out_value){ .known = true, .part = part, .whole = whole }
		     : out_unknown;
}

struct out_value
out_sum(uint64_t sum)
{
	return sum == NUM_UNKNOWN ? out_unknown : out_number(sum);
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
	const char *lead = table->mode ? " of " : "", *mode = table->mode ? table->mode : "";
	const struct out_field *fields = table->fields;

	fprintf(stream, "\nfields of tsv, kv and json%s%s:\n", lead, mode);
	for (int i = 0; i < table->count; i++)
		fprintf(stream, "  %-23s %s\n", fields[i].name, fields[i].help);
	fprintf(stream, "\nmetrics of prom%s%s, and their fields (percent there as 0 to 1):\n",
	    lead, mode);
	for (int i = 0; i < table->count; i++)
		if (fields[i].metric && fields[i].kind != OUT_STRING)
			fprintf(stream, "  hotset_%-30s %s\n", fields[i].metric, fields[i].name);
}

int
out_flush(FILE *stream)
{
	return fflush(stream) != 0 || ferror(stream) ? -1 : 0;
}

static void
put_plain(FILE *stream, const struct out_field *field, const struct out_value *value, bool prom)
{
	char cell[CELL];

	cell_plain(cell, field, value, prom);
	fputs(cell, stream);
}

/* A name has no length that is known before; what follows it keeps its distance. */
static void
put_name(FILE *stream, const char *name, int width)
{
	int length = (int)strlen(name);

	esc_terminal(stream, name);
	fprintf(stream, "%*s", length < -width ? -width - length : 0, "");
}

static void
text_row(struct out *out, const struct out_value *values)
{
	const struct out_column *column;
	char cell[CELL];

	if (!out->headed) {
		for (column = out->table->columns; column->head; column++)
			fprintf(out->stream, "%*s%s",
			    column[1].head || column->width > 0 ? column->width : 0, column->head,
			    column[1].head ? " " : "\n");
	}
	for (column = out->table->columns; column->head; column++) {
		const struct out_field *field = &out->table->fields[column->field];
		const struct out_value *value = &values[column->field];
		int width = column[1].head || column->width > 0 ? column->width : 0;

		if (field->kind == OUT_STRING && value->known)
			put_name(out->stream, value->string, width);
		else {
			cell_text(cell, column, field, value);
			fprintf(out->stream, "%*s", width, cell);
		}
		fputs(column[1].head ? " " : "\n", out->stream);
	}
}

static void
tsv_head(struct out *out)
{
	int count = out->table->count;

	for (int i = 0; i < count && !out->headed; i++)
		fprintf(out->stream, "%s%c", out->table->fields[i].name,
		    i + 1 < count ? '\t' : '\n');
	out->headed = true;
}

static void
tsv_row(struct out *out, const struct out_value *values)
{
	const struct out_field *fields = out->table->fields;
	int count = out->table->count;

	tsv_head(out);
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
		if (table->fields[i].kind != OUT_STRING || !table->fields[i].metric ||
		    !values[i].known)
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
	/* the same metrics come once in a set: an empty line tells where the next begins */
	if (out->again && !out->file.path)
		fputc('\n', out->stream);
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

static int
begin(struct out *out)
{
	if (!out->file.path || out->file.stream)
		return 0;
	if (replace_begin(&out->file) < 0)
		return -1;
	out->stream = out->file.stream;
	out->fd = out->file.fd;
	out->headed = false;
	return 0;
}

int
out_open(struct out *out, const struct out_table *table, enum out_format format, const char *path,
    FILE *stream)
{
	*out = (struct out){ .table = table,
		.format = format,
		.stream = stream,
		.fd = fileno(stream) };
	if (path && strcmp(path, "-") == 0)
		path = NULL;
	if (path && replace_init(&out->file, path) < 0)
		return -1;
	if (!path && out->fd >= 0) {
		out->patient = patient_stream(out->fd, false);
		if (!out->patient)
			return -1;
		out->stream = out->patient;
	}
	out->samples = calloc((size_t)table->count, sizeof *out->samples);
	return out->samples ? begin(out) : -1;
}

int
out_row(struct out *out, const struct out_value *values)
{
	struct out_value picked[OUT_FIELDS];

	if (begin(out) < 0)
		return -1;
	for (int i = 0; out->from && i < out->table->count; i++)
		picked[i] = values[out->from[i]];
	if (out->from)
		values = picked;
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

int
out_commit(struct out *out)
{
	if (begin(out) < 0)
		return -1;
	if (out->format == OUT_TSV) /* a report without rows has it too */
		tsv_head(out);
	if (out->format == OUT_PROM && prom_commit(out) < 0)
		return -1;
	out->again = true;
	return out->file.path ? replace_commit(&out->file) : out_flush(out->stream);
}

int
out_finish(struct out *out, bool whole)
{
	return out->file.path && !whole ? 0 : out_commit(out);
}

void
out_close(struct out *out)
{
	replace_drop(&out->file);
	if (out->patient)
		fclose(out->patient);
	for (int i = 0; out->samples && i < out->table->count; i++) {
		if (out->samples[i].stream)
			fclose(out->samples[i].stream);
		free(out->samples[i].text);
	}
	free(out->samples);
	*out = (struct out){ 0 };
}

int
out_explain(const struct out *out)
{
	const char *name = out->file.path ? out->file.path : "output";
	/* where nobody read, who asked us to stop has the better reason */
	int status = errno == ETIMEDOUT ? stop_status(STATUS_FAILED) : STATUS_FAILED;

	if (errno == EPIPE)
		return CLOSED_PIPE;
	if (errno == ETIMEDOUT || (errno == ENXIO && out->file.path))
		diag_error("%s: nobody reads it", name);
	else
		diag_file(name, errno);
	return status;
}
