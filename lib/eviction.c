/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "eviction.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "aside.h"
#include "diag.h"
#include "each.h"
#include "num.h"
#include "status.h"
#include "stop.h"
#include "unmeasured.h"

#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

static void
worsen(struct eviction *eviction, enum status status)
{
	eviction->status = status_worse(eviction->status, status);
}

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct eviction *eviction = argument;
	struct evicted_file *result = file->result;

	result->start = stop_now();
	evict_range(&eviction->tools, file->fd, &file->status, file->offset, file->length,
	    &result->evict);
	result->end = stop_now();
	file->error = result->evict.error ? result->evict.error : result->evict.unmeasured;
	progress_add(&eviction->report.progress, eviction->dry_run ? 1 : file->length);
}

static void
report_error(struct eviction *eviction, const struct each_file *file)
{
	const struct evicted_file *result = file->result;

	progress_clear(&eviction->report.progress);
	if (result->end && result->evict.error)
		diag_error("%s: cannot be written back or dropped: %s", file->path,
		    each_error(file));
	else
		diag_error("%s: %s", file->path, each_error(file));
	worsen(eviction, STATUS_PART);
}

static void
note_left(struct eviction *eviction, const struct each_file *file)
{
	const struct evicted_file *result = file->result;

	if (!result->end || result->evict.left == INUSE_FREE)
		return;
	if (left_add(&eviction->left, file, result->evict.left) < 0)
		diag_file(file->path, errno);
	worsen(eviction, STATUS_PART);
}

/* In order, in the main thread. */
static void
report(const struct each_file *file, void *argument)
{
	struct eviction *eviction = argument;
	struct evicted single = { 0 };

	eviction->operand = file->operand;
	if (file->error)
		report_error(eviction, file);
	note_left(eviction, file);
	evicted_file(&single, file);
	evicted_add(&eviction->current, &single);
	if (single.outcome.files && report_has_row(&eviction->report, file->operand, file->path))
		evicted_put(&single, file->path, &eviction->report);
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct eviction *eviction = argument;
	struct evicted *current = &eviction->current;

	(void)operand;
	if (current->outcome.files || !current->outcome.failed) {
		eviction->worked = true;
		evicted_put(current, name, &eviction->report);
	}
	progress_clear(&eviction->report.progress);
	if (unmeasured_explain(name, current->outcome.files, current->outcome.hidden,
		current->outcome.elsewhere))
		worsen(eviction, STATUS_PART);
	evicted_add(&eviction->all, current);
	*current = (struct evicted){ 0 };
}

/* What a dry run is for. */
static void
explain_plan(const struct eviction *eviction)
{
	const struct evicted *all = &eviction->all;
	unsigned long long planned = evicted_planned(all), dirty = all->stayed[STAYED_DIRTY];
	char written[64] = "";

	if (all->dirt_hidden)
		snprintf(written, sizeof written, "; which of them are dirty cannot be told");
	else if (dirty)
		snprintf(written, sizeof written, ", %s (%llu bytes) of them once written back",
		    BYTES(dirty), dirty);
	diag_note("a dry run: %s (%llu bytes)%s would be dropped%s", BYTES(planned), planned,
	    all->outcome.failed ? " of what can be measured" : "", written);
}

/* One reason why something stayed, or would. */
static void
explain_reason(struct eviction *eviction, enum stayed reason, const char *words)
{
	unsigned long long bytes = eviction->all.stayed[reason];
	const char *stayed = !eviction->dry_run ? "stayed"
	    : reason == STAYED_UNKNOWN          ? "may stay"
						: "would stay";

	if (!bytes || (reason == STAYED_UNKNOWN && stop_asked()))
		return;
	if (reason == STAYED_DIRTY && eviction->dry_run)
		return; /* it would go: explain_plan has it */
	diag_error("%s (%llu bytes) %s in memory: %s", BYTES(bytes), bytes, stayed, words);
	worsen(eviction, STATUS_PART);
}

/* What stayed of the files that were not left, a line for each reason. */
static void
explain_stayed(struct eviction *eviction)
{
	static const char *const words[STAYED_REASONS] = {
		[STAYED_UNKNOWN] = "it is not known why (root may find out), or something else "
				   "holds them at this moment",
		[STAYED_TMPFS] = "memory is where tmpfs and ramfs keep their files",
		[STAYED_EDGE] = "their page, or large folio, reaches out of --range, and is kept "
				"as a whole",
		[STAYED_LOCKED] = "a process has them locked",
		[STAYED_MAPPED] = "a process has them mapped",
		[STAYED_DIRTY] = "they are dirty still, or under writeback",
	};

	static const char may_stay[] =
	    "whether a process has them mapped, or their large folio reaches out of --range, "
	    "cannot be told (root with CAP_SYS_ADMIN may find out); nor what holds pages of a block device";

	if (eviction->all.outcome.beyond) {
		diag_error("the sizes add up to more than 2^64 bytes: no sum can be told");
		worsen(eviction, STATUS_PART);
		return;
	}
	for (int i = 0; i < STAYED_REASONS; i++)
		explain_reason(eviction, (enum stayed)i,
		    i == STAYED_UNKNOWN && eviction->dry_run ? may_stay : words[i]);
}

/* It looks at what other processes have open, wherever that is. */
static void
explain_left(void *argument)
{
	struct eviction *eviction = argument;

	left_explain(&eviction->left);
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct eviction *eviction)
{
	bool stopped = stop_asked() != 0;
	const struct evicted *current = &eviction->current;
	int status;

	if (stopped && (current->outcome.files || current->outcome.failed))
		operand_done(eviction->operand,
		    report_operand(&eviction->report, eviction->operand), eviction);
	if (report_has_total(&eviction->report))
		evicted_put(&eviction->all, "total", &eviction->report);
	status = report_end(&eviction->report, !stopped && eviction->worked);
	if (eviction->dry_run && !eviction->all.outcome.beyond)
		explain_plan(eviction);
	aside_run(explain_left, eviction);
	explain_stayed(eviction);
	if (status != STATUS_DONE)
		return status;
	return outcome_end((enum status)eviction->status, eviction->worked);
}

/* What is good to know before, and may hang where a file system does not answer. */
static void
look_ahead(void *argument)
{
	struct eviction *eviction = argument;
	struct report *report = &eviction->report;

	if (report->progress.on && !report->list && !eviction->dry_run &&
	    eviction->select->range.length == UINT64_MAX)
		report->progress.total = progress_sizes(report->operands, report->count);
	report->progress.what = eviction->dry_run ? "files looked at" : NULL;
}

int
eviction_run(struct eviction *eviction)
{
	struct each each = {
		.select = eviction->select,
		.result_size = sizeof(struct evicted_file),
		.workers = eviction->workers,
		.work = work,
		.report = report,
		.operand_done = operand_done,
		.argument = eviction,
	};
	const struct evict_how how = {
		.force = eviction->force,
		.dry_run = eviction->dry_run,
		.once = !eviction->select->count_links,
		.follow = eviction->select->follow,
		.workers = eviction->workers,
	};
	uint64_t start = stop_now();
	int result;

	eviction->left.dry_run = eviction->dry_run;
	signal(SIGIO, SIG_IGN); /* see inuse_ask */
	if (evict_begin(&eviction->tools, &how) < 0) {
		diag_file("cannot start", errno);
		return STATUS_FAILED;
	}
	if (!aside_run(look_ahead, eviction))
		return finish(eviction);
	result = each_run(&each, eviction->report.operands, eviction->report.count);
	progress_clear(&eviction->report.progress);
	if (result < 0) {
		each_explain(&each, errno);
		return STATUS_FAILED;
	}
	if (result == 0) /* else a thread may be at work still */
		evict_end(&eviction->tools);
	eviction->all.outcome.start = start;
	return finish(eviction);
}
