/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bundle.h"
#include "device.h"
#include "diag.h"
#include "each.h"
#include "meminfo.h"
#include "minimum.h"
#include "preload.h"
#include "status.h"
#include "stop.h"
#include "walk.h"

#define WORKERS         8
#define WORKERS_REMOTE  32
#define WORKERS_SEEKING 2

#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

static void
worsen(struct load *load, enum status status)
{
	load->status = status_worse(load->status, status);
}

/* In a worker: takes BYTES from the budget. */
static bool
admit(uint64_t bytes, void *argument)
{
	struct load *load = argument;
	unsigned long long left = atomic_load(&load->left);

	do {
		if (bytes > left)
			return false;
	} while (!atomic_compare_exchange_weak(&load->left, &left, left - bytes));
	return true;
}

static void
asked(uint64_t bytes, void *argument)
{
	struct load *load = argument;

	progress_add(&load->progress, bytes);
}

static struct preload_hooks
hooks_of(struct load *load)
{
	return (struct preload_hooks){ admit, asked, load };
}

/* In a worker, when FILE is done. */
static void
finish_file(struct load *load, struct each_file *file)
{
	struct tally_file *result = file->result;
	const struct preload *preload = &result->preload;

	result->end = stop_now();
	file->error = preload->error ? preload->error : preload->unmeasured;
	if (file->length > preload->read)
		progress_add(&load->progress, file->length - preload->read);
}

/* In a worker. */
static void
work(struct each_file *file, void *argument)
{
	struct load *load = argument;
	struct tally_file *result = file->result;
	struct preload_hooks hooks = hooks_of(load);
	struct num_range whole = { file->offset, file->length };

	result->start = stop_now();
	preload_parts(file->fd, &file->status, file->parts ? file->parts : &whole,
	    file->parts ? file->part_count : 1, &hooks, &result->preload);
	finish_file(load, file);
}

/* Parts that add up to the whole file are as good as that. */
static bool
gathers(const struct each_file *file, void *argument)
{
	(void)argument;
	return bundle_takes(file->fd, &file->status, file->offset, file->length);
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

static const char *
operand_name(const struct load *load, size_t operand)
{
	return operand < load->count ? load->operands[operand] : load->select->files_from;
}

static void
put_row(struct load *load, const char *path, const struct tally *tally)
{
	progress_clear(&load->progress);
	if (!load->out_error && tally_row(tally, path, &load->out) < 0)
		load->out_error = errno;
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
	if (file->error || load->each_file)
		progress_clear(&load->progress);
	if (load->source && load->source->count)
		told = !load->source->count(file, &single, load->self);
	if (file->error && !told) {
		diag_error("%s: %s", file->path, each_error(file));
		worsen(load, STATUS_PART);
	}
	tally_add(&load->current, &single);
	/* an operand that is a file gets its row anyway */
	if (!load->each_file || !single.end ||
	    strcmp(file->path, operand_name(load, file->operand)) == 0)
		return;
	put_row(load, file->path, &single);
}

static void
check_min(struct load *load, const char *name, const struct tally *tally)
{
	/* a file that failed is of unknown size: what is known of the others counts, if any is */
	bool known = !tally->beyond && (tally->size || !tally->failed);

	worsen(load, minimum_check(name, load->min, known, tally->resident, tally->size));
}

static void
explain_unmeasured(struct load *load, const char *name, const struct tally *tally)
{
	if (tally->hidden)
		diag_error("%s: %llu of %llu files cannot be measured: the kernel tells it only "
			   "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)tally->hidden, (unsigned long long)tally->files);
	if (tally->elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS)",
		    name, (unsigned long long)tally->elsewhere, (unsigned long long)tally->files);
	if (tally->hidden || tally->elsewhere)
		worsen(load, STATUS_PART);
}

static void
operand_done(size_t operand, const char *name, void *argument)
{
	struct load *load = argument;
	struct tally *current = &load->current;

	(void)operand;
	if (current->files || !current->failed) {
		load->worked = true;
		put_row(load, name, current);
	}
	progress_clear(&load->progress);
	explain_unmeasured(load, name, current);
	check_min(load, name, current);
	tally_add(&load->all, current);
	*current = (struct tally){ 0 };
}

/* What the budget left out, which limit that was, and what would mend it. */
static void
explain_skipped(struct load *load)
{
	const struct budget *budget = &load->budget;
	unsigned long long skipped = load->all.skipped, allowed = load->allowed;
	bool given = budget_given(&load->share);
	char words[BUDGET_WORDS];

	budget_words(budget->room_group, budget->room_limit, words);
	if (load->all.beyond)
		return; /* that is said */
	diag_error("%llu files not started%s, %s (%llu bytes): the budget is %s (%llu bytes), "
		   "%s%s; --budget=SIZE|PCT changes it",
	    (unsigned long long)load->all.skipped_files,
	    load->ranges || load->source ? " or only in part" : "", BYTES(skipped), skipped,
	    BYTES(allowed), allowed, given ? "as given" : "what is free or idle ",
	    given ? "" : words);
	worsen(load, STATUS_PART);
}

static void
explain_holes(struct load *load)
{
	unsigned long long holes = load->all.holes;

	diag_error("%s (%llu bytes) are holes of files in tmpfs, which are not cached",
	    BYTES(holes), holes);
	worsen(load, STATUS_PART);
}

/* What is missing and has no other reason: it came, and was pushed out again. */
static void
explain_missing(struct load *load)
{
	uint64_t missing = load->all.size - load->all.resident, known;

	if (load->all.beyond) {
		diag_error("the sizes add up to more than 2^64 bytes: no sum can be told");
		worsen(load, STATUS_PART);
		return;
	}
	if (load->all.holes)
		explain_holes(load);
	known = load->all.skipped + load->all.holes; /* of what is missing */
	if (missing <= known || load->all.failed || stop_asked())
		return;
	missing -= known;
	if (load->min >= 0 && load->status == STATUS_DONE) {
		diag_note("%s did not stay in memory", BYTES(missing));
		return;
	}
	diag_error("%s (%llu bytes) did not stay in memory: something else needs it, or the "
		   "budget is more than a limit",
	    BYTES(missing), (unsigned long long)missing);
	worsen(load, STATUS_PART);
}

/* After the walk: what is missing of the report, and how it went. */
static int
finish(struct load *load)
{
	bool stopped = stop_asked() != 0;

	if (stopped && (load->current.files || load->current.failed))
		operand_done(load->operand, operand_name(load, load->operand), load);
	if (load->out.format == OUT_TEXT && load->count + !!load->select->files_from > 1)
		put_row(load, "total", &load->all);
	if (!load->out_error && out_finish(&load->out, !stopped && load->worked) < 0)
		load->out_error = errno;
	progress_clear(&load->progress);
	if (load->source && load->source->end)
		worsen(load, load->source->end(load->self));
	if (load->all.skipped)
		explain_skipped(load);
	explain_missing(load);
	if (load->out_error) {
		errno = load->out_error;
		return out_explain(&load->out);
	}
	if (stop_asked() == SIGALRM)
		diag_error("not done within the time allowed (--timeout)");
	if (stopped)
		worsen(load, STATUS_PART);
	if (!load->worked && diag_errors())
		worsen(load, STATUS_FAILED);
	return stop_status(load->status);
}

int
load_prepare(struct load *load)
{
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

/*
 * How many files are loaded at a time, from what the first operand lies on. Each worker has up to
 * a bundle of small files on the way. A network answers late; the head of a disk has one place
 * to be, and a bundle is enough to sort; all else was measured: two to sixteen are equally
 * fast on two processors.
 */
static unsigned
choose_workers(const struct load *load)
{
	struct device device = { .kind = DEVICE_UNKNOWN };
	struct stat status;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const char *sample = load->sample || !load->count ? load->sample : load->operands[0];
	int fd = sample ? open(sample, O_PATH | O_CLOEXEC) : -1;

	if (fd >= 0 && fstat(fd, &status) == 0)
		device = device_of(fd, &status);
	if (fd >= 0)
		close(fd);
	if (device.kind == DEVICE_NETWORK)
		return WORKERS_REMOTE;
	if (device.seeks)
		return WORKERS_SEEKING;
	return processors > WORKERS / 2 ? (unsigned)processors * 2 : WORKERS;
}

int
load_run(struct load *load)
{
	struct each each = {
		.select = load->select,
		.by_place = true,
		.result_size = sizeof(struct tally_file),
		.workers = load->workers ? load->workers : choose_workers(load),
		.note_size = load->source ? load->source->note_size : 0,
		.find = load->source ? find : NULL,
		.next = load->ranges ? next : NULL,
		.look = load->source && load->source->look ? look : NULL,
		.work = work,
		.gathers = gathers,
		.work_together = work_together,
		.report = report,
		.operand_done = operand_done,
		.argument = load,
	};
	bool plain = !load->source && !load->select->files_from &&
	    load->select->range.length == UINT64_MAX;
	uint64_t start = stop_now();
	int result;

	progress_begin(&load->progress, plain ? progress_sizes(load->operands, load->count) : 0,
	    load->quiet);
	result = each_run(&each, load->operands, load->count);
	progress_clear(&load->progress);
	if (result < 0) {
		diag_file(load->select->files_from ? load->select->files_from : "cannot start",
		    errno);
		return STATUS_FAILED;
	}
	load->all.start = start;
	return finish(load);
}

void
load_free(struct load *load)
{
	budget_free(&load->budget);
}
