/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aside.h"
#include "bundle.h"
#include "diag.h"
#include "each.h"
#include "enter.h"
#include "ioprio.h"
#include "meminfo.h"
#include "minimum.h"
#include "preload.h"
#include "residency.h"
#include "shortfall.h"
#include "status.h"
#include "stop.h"
#include "unmeasured.h"
#include "walk.h"
#include "workers.h"

#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

static void
worsen(struct load *load, enum status status)
{
	load->status = status_worse(load->status, status);
}

/* In a worker: takes the pages of BYTES from the budget, which many small files are much more
 * than. */
static bool
admit(uint64_t bytes, void *argument)
{
	struct load *load = argument;
	unsigned long long left = atomic_load(&load->left), page = residency_page_size();
	unsigned long long last = bytes % page ? page - bytes % page : 0;

	do {
		if (bytes > left || last > left - bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&load->left, &left, left - bytes - last));
	return true;
}

static bool
fits(uint64_t bytes, void *argument)
{
	struct load *load = argument;

	return bytes <= atomic_load(&load->left);
}

static void
asked(uint64_t bytes, void *argument)
{
	struct load *load = argument;

	progress_add(&load->report.progress, bytes);
}

static bool
wait(uint64_t bytes, void *argument)
{
	struct load *load = argument;

	return manners_wait(&load->manners, bytes);
}

static struct preload_hooks
hooks_of(struct load *load)
{
	uint64_t chunk = pace_chunk(&load->manners.pace);

	return (struct preload_hooks){
		.admit = admit,
		.fits = fits,
		.wait = wait,
		.chunk = chunk == UINT64_MAX ? 0 : chunk,
		.asked = asked,
		.argument = load,
	};
}

/* In a worker: what work would do, but for the reading. */
static void
plan(struct load *load, const struct each_file *file, const struct num_range *part,
    struct preload *result)
{
	struct preload_hooks hooks = hooks_of(load);
	uint64_t missing;

	preload_look(file->fd, &file->status, part->offset, part->length, &hooks, result);
	missing = part->length - result->already;
	if (missing && !admit(missing, load)) {
		result->skipped = missing;
		result->holes = 0; /* nobody gets as far as to see them */
	}
}

static void
bring_in(struct load *load, const struct each_file *file, const struct num_range *part,
    struct preload *result)
{
	struct preload_hooks hooks = hooks_of(load);

	preload_range(file->fd, &file->status, part->offset, part->length, &hooks, result);
}

/* In a worker, when FILE is done. */
static void
finish_file(struct load *load, struct each_file *file)
{
	struct tally_file *result = file->result;
	const struct preload *preload = &result->preload;

	result->end = stop_now();
	file->error = preload->error ? preload->error : preload->unmeasured;
	if (load->dry_run)
		progress_add(&load->report.progress, 1);
	else if (file->length > preload->read)
		progress_add(&load->report.progress, file->length - preload->read);
}

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct load *load = argument;
	struct tally_file *result = file->result;
	struct num_range whole = { file->offset, file->length };
	const struct num_range *parts = file->parts ? file->parts : &whole;
	size_t count = file->parts ? file->part_count : 1;

	result->start = stop_now();
	for (size_t i = 0; i < count; i++) {
		struct preload part;

		(load->dry_run ? plan : bring_in)(load, file, &parts[i], &part);
		preload_add(&result->preload, &part);
	}
	finish_file(load, file);
}

/* Parts that add up to the whole file are as good as that. */
static bool
gathers(const struct each_file *file, void *argument)
{
	const struct load *load = argument;

	return !load->dry_run && file->length <= pace_chunk(&load->manners.pace) &&
	    bundle_takes(file->fd, &file->status, file->offset, file->length);
}

/* In a worker. */
static void
work_together(struct each_file *const *files, size_t count, void *argument)
{
	struct load *load = argument;
	struct preload_hooks hooks = hooks_of(load);
	struct bundle_file bundle[EACH_TOGETHER];
	uint64_t start = stop_now();

	for (size_t i = 0; i < count; i++) {
		struct tally_file *result = files[i]->result;

		result->start = start;
		bundle[i] = (struct bundle_file){ files[i]->fd, &files[i]->status,
			&result->preload };
	}
	bundle_load(bundle, count, &hooks);
	for (size_t i = 0; i < count; i++)
		finish_file(load, files[i]);
}

/* In order, in the main thread. */
static void
report(const struct each_file *file, void *argument)
{
	struct load *load = argument;
	struct tally single = { 0 };
	bool told = false;

	load->operand = file->operand;
	tally_file(&single, file);
	if (file->error || load->report.each_file)
		progress_clear(&load->report.progress);
	if (single.short_files)
		diag_detail("%s: parts that were asked for lie behind its end", file->path);
	if (load->source && load->source->count)
		told = !load->source->count(file, &single, load->self);
	if (file->error && !told) {
		diag_error("%s: %s", file->path, each_error(file));
		worsen(load, STATUS_PART);
	}
	tally_add(&load->current, &single);
	if (single.outcome.end && report_has_row(&load->report, file->operand, file->path))
		tally_put(&single, file->path, &load->report);
}

static void
check_min(struct load *load, const char *name, const struct tally *tally)
{
	/* a file that failed is of unknown size: what is known of the others counts, if any is */
	bool known = outcome_known(&tally->outcome);

	if (load->repeated && known && !tally->outcome.files)
		return; /* the operand that has its files answers for them */
	worsen(load,
	    minimum_check(name, load->dry_run ? "would be" : "is", load->min, known,
		load->dry_run ? tally->expected : tally->outcome.resident, tally->outcome.size));
}

static void
repeated(void *argument)
{
	struct load *load = argument;

	load->repeated = true;
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct load *load = argument;
	struct tally *current = &load->current;

	(void)operand;
	if (current->outcome.files || !current->outcome.failed) {
		load->worked = true;
		tally_put(current, name, &load->report);
	}
	progress_clear(&load->report.progress);
	if (unmeasured_explain(name, current->outcome.files, current->outcome.hidden,
		current->outcome.elsewhere))
		worsen(load, STATUS_PART);
	check_min(load, name, current);
	tally_add(&load->all, current);
	*current = (struct tally){ 0 };
	load->repeated = false;
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct load *load)
{
	bool stopped = stop_asked() != 0;
	int status;

	if (stopped && (load->current.outcome.files || load->current.outcome.failed))
		operand_done(load->operand, report_operand(&load->report, load->operand), load);
	load->all.outcome.end = stop_now();
	if (report_has_total(&load->report))
		tally_put(&load->all, "total", &load->report);
	status = report_end(&load->report, !stopped && load->worked);
	manners_report(&load->manners);
	if (load->source && load->source->end)
		worsen(load, load->source->end(load->self));
	worsen(load, shortfall_explain(load));
	if (status != STATUS_DONE)
		return status;
	return outcome_end((enum status)load->status, load->worked);
}

/* Before there are threads and a budget. */
static int
take_place(const struct load *load)
{
	if (load->cgroup && enter_cgroup(load->cgroup) < 0) {
		diag_error("--cgroup=%s: %s", load->cgroup, enter_error(errno));
		return STATUS_UNKNOWN;
	}
	if (load->idle && ioprio_idle() < 0) {
		diag_error("--idle: ioprio_set: %s", strerror(errno));
		return STATUS_UNKNOWN;
	}
	return STATUS_DONE;
}

int
load_prepare(struct load *load)
{
	int status = take_place(load);

	if (status != STATUS_DONE)
		return status;
	if (budget_read("", &load->budget) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	if (budget_allow(&load->budget, &load->share, &load->allowed) < 0) {
		diag_error("%s and the limits of memory cgroups do not tell how much memory is "
			   "free; --budget=SIZE says how much may be used",
		    MEMINFO_PATH);
		return STATUS_UNKNOWN;
	}
	atomic_init(&load->left, load->allowed);
	diag_detail("budget %s (%llu bytes)", BYTES(load->allowed),
	    (unsigned long long)load->allowed);
	return STATUS_DONE;
}

static void
look(struct each_file *file, void *argument)
{
	struct load *load = argument;

	load->source->look(file, load->self);
}

/* The next of a list of ranges. */
static int
next(struct list *list, struct walk_entry *entry, void *argument)
{
	struct load *load = argument;
	int got = rangelist_next(&load->list, list, &entry->path);

	if (got > 0)
		entry->parts = rangelist_parts(&load->list, &entry->part_count);
	return got;
}

static void
find(size_t operand, struct each_run *run, void *argument)
{
	struct load *load = argument;

	(void)operand;
	load->source->find(run, load->self);
}

/* What is good to know before, and may hang where a file system does not answer. */
static void
look_ahead(void *argument)
{
	struct load *load = argument;
	struct report *report = &load->report;
	const char *sample = load->sample || !report->count ? load->sample : report->operands[0];

	if (report->progress.on && !load->source && !report->list &&
	    load->select->range.length == UINT64_MAX && !load->dry_run)
		report->progress.total = progress_sizes(report->operands, report->count);
	report->progress.what = load->dry_run ? "files looked at" : NULL;
	if (!load->workers)
		load->workers = workers_for(sample);
	if (load->idle)
		ioprio_explain(report->operands, report->count);
}

int
load_run(struct load *load)
{
	struct each each = {
		.select = load->select,
		.by_place = true,
		.shares = true,
		.result_size = sizeof(struct tally_file),
		.note_size = load->source ? load->source->note_size : 0,
		.only_files = load->source && load->source->only_files,
		.find = load->source ? find : NULL,
		.next = load->ranges ? next : NULL,
		.look = load->source && load->source->look ? look : NULL,
		.work = work,
		.gathers = gathers,
		.work_together = work_together,
		.report = report,
		.repeated = repeated,
		.operand_done = operand_done,
		.argument = load,
	};
	uint64_t start = stop_now();
	int result, status;

	if (!aside_run(look_ahead, load))
		return finish(load);
	each.workers = load->workers;
	if (manners_begin(&load->manners, load->rate, &load->report.progress) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	result = each_run(&each, load->report.operands, load->report.count);
	progress_clear(&load->report.progress);
	if (result < 0) {
		diag_file(load->report.list ? load->report.list : "cannot start", errno);
		return STATUS_FAILED;
	}
	load->all.outcome.start = start;
	status = finish(load);
	if (result == 0)
		manners_free(&load->manners); /* else a thread that hangs may come back to it */
	return status;
}

void
load_free(struct load *load)
{
	budget_free(&load->budget);
}
