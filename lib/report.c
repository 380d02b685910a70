/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AS_FOUND "none" /* an order: rows as the walk finds them */

static enum status
choose_order(struct report *report, const struct report_choice *choice, const char *most)
{
	const char *sort = choice->sort ? choice->sort : choice->rows ? most : AS_FOUND;

	if (strcmp(sort, AS_FOUND) == 0)
		return choice->rows ? opts_misuse("--rows goes with an order: not --sort=none")
				    : STATUS_DONE;
	report->rows = (struct rows){
		.table = report->table,
		.field = rows_field(report->table, sort),
		.limit = choice->rows,
	};
	report->sorted = true;
	return report->rows.field < 0 ? opts_misuse("--sort: no field is called %s", sort)
				      : STATUS_DONE;
}

enum status
report_choose(struct report *report, const struct report_choice *choice,
    const struct out_table *table, const char *most)
{
	enum status status;
	const char *wrong;

	report->table = table;
	status = choose_order(report, choice, most);
	if (status != STATUS_DONE || !choice->columns)
		return status;
	if (columns_choose(&report->columns, table, choice->columns, choice->labels, &wrong) < 0)
		return opts_misuse(errno == EEXIST ? "--columns: %.*s is given twice"
						   : "--columns: no field is called %.*s",
		    (int)strcspn(wrong, ","), wrong);
	report->table = &report->columns.table;
	return STATUS_DONE;
}

int
report_open(struct report *report, const struct opts_common *common, const char *save)
{
	if (out_open(&report->out, report->table, common->format, common->output, stdout) < 0)
		return out_explain(&report->out);
	if (report->table == &report->columns.table)
		report->out.from = report->columns.from;
	progress_begin(&report->progress, 0, common->quiet);
	report->progress.what = "files";
	return save ? save_begin(&report->save, save, &report->out) : STATUS_DONE;
}

const char *
report_operand(const struct report *report, size_t operand)
{
	if (report->together)
		return report->together;
	return operand < report->count ? report->operands[operand] : report->list;
}

bool
report_has_total(const struct report *report)
{
	return report->out.format == OUT_TEXT && !report->together &&
	    report->count + (report->list != NULL) > 1;
}

bool
report_is_operand(const struct report *report, size_t operand, const char *path)
{
	/* what a list names has no row by that */
	return !report->together && operand < report->count &&
	    strcmp(path, report->operands[operand]) == 0;
}

bool
report_has_row(const struct report *report, size_t operand, const char *path)
{
	return report->each_file && !report_is_operand(report, operand, path);
}

void
report_keep(struct report *report, int result)
{
	if (result < 0 && !report->error)
		report->error = errno;
}

bool
report_ready(struct report *report)
{
	progress_clear(&report->progress);
	return !report->error;
}

void
report_put(struct report *report, const struct out_value *values, const char *below)
{
	if (report_ready(report))
		report_keep(report, out_row(&report->out, values));
	if (!report->error && below)
		report_keep(report, out_line(&report->out, below));
}

void
report_add(struct report *report, const struct out_value *values, const char *below)
{
	if (!report->sorted)
		report_put(report, values, below);
	else if (!report->error)
		report_keep(report, rows_add(&report->rows, values, below));
}

int
report_end(struct report *report, bool whole)
{
	enum status saved = save_end(&report->save, whole);

	if (report_ready(report))
		report_keep(report, rows_report(&report->rows, &report->out));
	if (!report->error)
		report_keep(report, out_finish(&report->out, whole));
	if (!report->error)
		return saved;
	errno = report->error;
	return out_explain(&report->out);
}

void
report_close(struct report *report)
{
	save_end(&report->save, false);
	out_close(&report->out);
}
