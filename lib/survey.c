/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "survey.h"

#include <errno.h>
#include <signal.h>

#include "diag.h"
#include "each.h"
#include "minimum.h"
#include "num.h"
#include "residency.h"
#include "stop.h"

static void
find(size_t operand, struct each_run *run, void *argument)
{
	struct survey *survey = argument;

	openfiles_find(survey->openfiles, operand, run);
}

static void
work(struct each_file *file, void *argument)
{
	struct survey *survey = argument;
	const struct view *view = survey->view;

	(view->by_page ? residency_prove : residency_query)(file->fd, &file->status, file->offset,
	    file->length, file->result);
	if (view->look && view->look(file, survey->self) < 0)
		file->error = errno;
	progress_add(&survey->report->progress, 1);
}

static void
count_file(struct survey *survey, const struct each_file *file, struct footprint *single)
{
	const struct residency *residency = file->result;

	if (file->error || residency->why == RESIDENCY_ERROR)
		progress_clear(&survey->report->progress);
	if (file->error) {
		diag_error("%s: %s", file->path, each_error(file));
		single->errors = 1;
		return;
	}
	if (residency->why == RESIDENCY_ERROR)
		diag_file(file->path, residency->error);
	footprint_file(single, file->length, residency);
}

static void
report(const struct each_file *file, void *argument)
{
	struct survey *survey = argument;
	const struct view *view = survey->view;
	struct footprint single = { 0 };

	survey->operand = file->operand;
	if (file->error == EINTR && stop_asked())
		return; /* half of a file is no figure */
	if (view->skip && view->skip(file, survey->self))
		return;
	count_file(survey, file, &single);
	footprint_add(&survey->current, &single);
	view->file(file, &single, survey->self);
	if (view->release)
		view->release(file->result); /* not only when it is used again: it may be much */
}

static void
repeated(size_t operand, void *argument)
{
	struct survey *survey = argument;

	(void)operand; /* one at a time */
	survey->repeated = true;
}

static void
folder_done(size_t operand, const char *path, size_t depth, void *argument)
{
	struct survey *survey = argument;

	survey->operand = operand;
	survey->view->folder(operand, path, depth, survey->self);
}

/* What is hidden of processes counts as errors, but not as if they were not there. */
static void
add_hidden(struct survey *survey, size_t operand)
{
	const struct openfiles *openfiles = survey->openfiles;

	if (!openfiles || operand >= openfiles->count)
		return;
	survey->current.errors += openfiles->hidden[operand].processes;
	survey->current.errors += openfiles->hidden[operand].files;
	survey->repeated |= openfiles->hidden[operand].repeated;
	openfiles_explain(openfiles, operand);
}

static void
explain_unknown(const char *name, const struct footprint *sum)
{
	if (sum->forbidden)
		diag_error(
		    "%s: residency of %llu of %llu files is unknown: the kernel tells it only "
		    "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)sum->forbidden, (unsigned long long)sum->files);
	if (sum->elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS, sysfs): their residency is unknown",
		    name, (unsigned long long)sum->elsewhere, (unsigned long long)sum->files);
}

static void
check_minimum(struct survey *survey, const char *name)
{
	const struct footprint *sum = &survey->current;
	bool known = !sum->unknown && !sum->errors && sum->pages != NUM_UNKNOWN;

	if (survey->repeated && known && !sum->files)
		return; /* the operand that has its files answers for them */
	survey->status = status_worse(survey->status,
	    minimum_check(name, "is", survey->min, known, sum->resident, sum->pages));
}

static void
finish_operand(struct survey *survey, size_t operand)
{
	const char *name = report_operand(survey->report, operand);
	bool worked;

	progress_clear(&survey->report->progress);
	add_hidden(survey, operand);
	worked = survey->current.files || !survey->current.errors;
	survey->worked |= worked;
	if (survey->view->operand)
		survey->view->operand(name, worked ? &survey->current : NULL, survey->self);
	explain_unknown(name, &survey->current);
	check_minimum(survey, name);
	footprint_add(&survey->all, &survey->current);
	survey->current = (struct footprint){ 0 };
	survey->repeated = false;
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct survey *survey = argument;

	(void)name;
	if (!survey->report->together)
		finish_operand(survey, operand);
}

/* Whether there is a row to come that no operand's end has brought. */
static bool
lacks_row(const struct survey *survey, bool stopped)
{
	return survey->report->together ||
	    (stopped && (survey->current.files || survey->current.errors));
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct survey *survey)
{
	bool stopped = stop_asked() != 0;
	int status;

	if (lacks_row(survey, stopped))
		finish_operand(survey, survey->operand);
	if (report_has_total(survey->report) && survey->view->total)
		survey->view->total("total", &survey->all, survey->self);
	status = report_end(survey->report, !stopped && survey->worked);
	if (status != STATUS_DONE)
		return status;
	if (stop_asked() == SIGALRM) {
		diag_error("not done within the time allowed (--timeout): "
			   "the figures are of what was seen until then");
		return STATUS_UNKNOWN;
	}
	if (stopped)
		return stop_status(STATUS_FAILED);
	if (!survey->worked)
		return STATUS_FAILED;
	return diag_errors() ? status_worse(survey->status, STATUS_PART) : STATUS_DONE;
}

int
survey_run(struct survey *survey)
{
	struct report *to = survey->report;
	struct each each = {
		.select = survey->select,
		.in_order = survey->in_order,
		.result_size = survey->view->result_size,
		.work = work,
		.release = survey->view->release,
		.find = survey->openfiles ? find : NULL,
		.report = report,
		.repeated = repeated,
		.folder_done = survey->by_folder ? folder_done : NULL,
		.operand_done = operand_done,
		.argument = survey,
	};

	if (each_run(&each, to->operands, to->count) < 0) {
		each_explain(&each, errno);
		return STATUS_FAILED;
	}
	return finish(survey);
}
