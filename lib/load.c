/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

static void
reach(struct load *load, size_t operand)
{
	if (operand >= load->reached)
		load->reached = operand + 1;
}

/* What keeps one file from being measured keeps all. */
static bool
is_forbidden(const struct preload *preload)
{
	return !preload->error && (preload->unmeasured == EPERM || preload->unmeasured == ENOSYS);
}

static void
explain_file(struct load *load, const struct each_file *file)
{
	const struct tally_file *result = file->result;

	if (file->error == EINTR && stop_asked()) {
		diag_note("%s: not measured after the stop", file->path);
		return;
	}
	worsen(load, STATUS_PART);
	if (!is_forbidden(&result->preload))
		diag_error("%s: %s", file->path, each_error(file));
	else if (!load->forbidden)
		diag_error("%s: mincore(2) is forbidden here (seccomp), so that this and maybe "
			   "more files cannot be measured: allow it (SystemCallFilter=mincore)",
		    file->path);
	load->forbidden |= is_forbidden(&result->preload);
}

/* In order, in the main thread. */
static void
report(const struct each_file *file, void *argument)
{
	struct load *load = argument;
	struct tally single = { 0 };
	bool told = false;

	reach(load, file->operand);
	tally_file(&single, file);
	if (file->error || load->report.each_file)
		progress_clear(&load->report.progress);
	if (single.short_files)
		diag_detail("%s: parts that were asked for lie behind its end", file->path);
	if (load->source && load->source->count)
		told = !load->source->count(file, &single, load->self);
	if (file->error && !told)
		explain_file(load, file);
	if (single.outcome.resident && !load->dry_run)
		recheck_note(&load->recheck, file, single.outcome.resident);
	tally_add(&load->each[file->operand], &single);
	if (single.outcome.end && report_has_row(&load->report, file->operand, file->path))
		tally_put(&single, file->path, &load->report);
}

static void
check_min(struct load *load, const char *name, const struct tally *tally)
{
	/* a file that failed is of unknown size: what is known of the others counts, if any is */
	bool known = outcome_known(&tally->outcome);

	if (tally->repeated && known && !tally->outcome.files)
		return; /* the operand that has its files answers for them */
	worsen(load,
	    minimum_check(name, load->dry_run ? "would be" : "is", load->min, known,
		load->dry_run ? tally->expected : tally->outcome.resident, tally->outcome.size));
}

static void
repeated(size_t operand, void *argument)
{
	struct load *load = argument;

	load->each[operand].repeated = true;
}

/* Its row waits until the end: what comes later may push it out. */
static void
operand_done(size_t operand, const char *name, void *argument)
{
	(void)name;
	reach(argument, operand);
}

static void
put_operand(struct load *load, size_t operand)
{
	const char *name = report_operand(&load->report, operand);
	const struct tally *tally = &load->each[operand];

	if (tally->outcome.files || !tally->outcome.failed) {
		load->worked = true;
		tally_put(tally, name, &load->report);
	}
	if (unmeasured_explain(name, tally->outcome.files, tally->outcome.hidden,
		tally->outcome.elsewhere))
		worsen(load, STATUS_PART);
	check_min(load, name, tally);
	tally_add(&load->all, tally);
}

/* A file that was loaded, when it is looked at once more. */
static void
changed(const struct recheck_change *change, void *argument)
{
	struct load *load = argument;
	struct tally *tally = &load->each[change->operand];
	uint64_t away = change->before > change->now ? change->before - change->now : 0;

	tally->outcome.resident += change->now - change->before;
	tally->cut += change->gone;
	load->away += away - change->gone;
	if (change->error) {
		diag_error("%s: cannot be looked at again, and counts as not in memory: %s",
		    change->path, strerror(change->error));
		tally->outcome.failed++;
		worsen(load, STATUS_PART);
	} else if (change->gone)
		diag_detail("%s: shorter, replaced or gone since it was loaded", change->path);
	else if (away)
		diag_detail("%s: %s (%llu bytes) have left memory again", change->path, BYTES(away),
		    (unsigned long long)away);
}

/* What is in memory in the end. */
static void
look_again(struct load *load)
{
	struct recheck *recheck = &load->recheck;

	if (stop_asked() || (load->min < 0 && !recheck_is_due(recheck)))
		return;
	load->looked = recheck_run(recheck, load->workers);
	if (load->looked < 0) {
		diag_error("what is in memory in the end cannot be looked at: %s", strerror(errno));
		worsen(load, STATUS_UNKNOWN);
	}
	if (recheck->beyond) {
		diag_error("%llu files cannot be looked at again for want of memory: they count as "
			   "they were when they were loaded",
		    (unsigned long long)recheck->beyond);
		worsen(load, STATUS_PART);
	}
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct load *load)
{
	bool stopped = stop_asked() != 0;
	int status;

	look_again(load);
	progress_clear(&load->report.progress);
	for (size_t i = 0; i < load->reached; i++)
		put_operand(load, i);
	load->all.outcome.start = load->start;
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
	int result, status;

	load->start = stop_now();
	load->recheck.changed = changed;
	load->recheck.argument = load;
	load->each = calloc(load->report.count + 1, sizeof *load->each);
	if (!load->each) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	if (!aside_run(look_ahead, load))
		return finish(load);
	each.workers = load->workers;
	if (manners_begin(&load->manners, load->rate, &load->report.progress) < 0) {
		diag_error("%s", strerror(errno));
		return STATUS_FAILED;
	}
	recheck_begin(&load->recheck);
	result = each_run(&each, load->report.operands, load->report.count);
	progress_clear(&load->report.progress);
	if (result < 0) {
		each_explain(&each, errno);
		return STATUS_FAILED;
	}
	status = finish(load);
	if (result == 0 && load->looked == 0)
		manners_free(&load->manners); /* else a thread that hangs may come back to it */
	return status;
}

void
load_free(struct load *load)
{
	if (load->looked <= 0)
		recheck_free(&load->recheck);
	free(load->each);
	budget_free(&load->budget);
}
