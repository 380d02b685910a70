/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "each.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "diag.h"
#include "each_run.h"
#include "folder.h"

#define MIN_BATCHES 16
#define LOOK        100 /* between looks at a stop, in ms */

/* Of a line of a list: an errno that no file system has, nor LIST_CUT. */
#define HOLDS_NUL ENOSTR

static void
submit(struct each_run *run)
{
	if (!run->batch || run->batch->job.count == 0)
		return;
	batch_close(run->batch, run->each.result_size);
	run->batch = NULL;
	pool_submit(&run->pool);
}

static void
add(struct each_run *run, enum batch_kind kind, const struct walk_entry *entry, bool operand)
{
	if (run->batch && batch_is_full(run->batch, entry->folder))
		submit(run);
	if (!run->batch)
		run->batch = (struct batch *)pool_take(&run->pool);
	if (run->batch && batch_add(run->batch, kind, entry, run->operand, operand) < 0)
		atomic_store(&run->lost, errno);
}

static void
found(const struct walk_entry *entry, void *argument)
{
	struct each_run *run = argument;

	add(run, entry->error ? BATCH_FAILED : BATCH_FOUND, entry,
	    entry->name == 0 && !entry->folder);
}

static void
left(const char *path, size_t length, size_t depth, void *argument)
{
	struct each_run *run = argument;
	struct walk_entry entry = { .path = path, .length = length, .depth = depth };

	add(run, BATCH_FOLDER_DONE, &entry, false);
}

/* The walk is about to wait for a disk: workers without work need not wait as well. */
static bool
go_on(void *argument)
{
	struct each_run *run = argument;

	if (pool_hungry(&run->pool))
		submit(run);
	return !pool_stopping(&run->pool);
}

static void
add_failure(struct each_run *run, const char *path, int error)
{
	add(run, BATCH_FAILED,
	    &(struct walk_entry){ .path = path, .length = strlen(path), .error = error }, true);
}

bool
each_go_on(struct each_run *run)
{
	return go_on(run);
}

void
each_found(struct each_run *run, const char *path, int fd)
{
	struct folder *held = folder_of(fd);
	struct walk_entry entry = { .path = path, .length = strlen(path), .folder = held };

	if (held)
		add(run, BATCH_HELD, &entry, false);
	else
		add_failure(run, path, errno);
	folder_release(held);
}

void
each_named(struct each_run *run, const struct walk_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');

	if (select_admits(run->each.select, entry->path, slash ? slash + 1 : entry->path))
		add(run, entry->error ? BATCH_FAILED : BATCH_NAMED, entry, !entry->folder);
}

void
each_cut(struct each_run *run)
{
	submit(run);
}

void
each_failed(struct each_run *run, const char *path, int error)
{
	add_failure(run, path, error);
}

static void
finish_operand(struct each_run *run, const char *name)
{
	add(run, BATCH_OPERAND_DONE, &(struct walk_entry){ .path = name, .length = strlen(name) },
	    true);
}

/* More of the list; false at a stop or an error. What is known meanwhile is worked on. */
static bool
refill(struct each_run *run)
{
	submit(run);
	while (!list_ready(&run->list, LOOK))
		if (pool_stopping(&run->pool))
			return false;
	if (list_fill(&run->list) == 0)
		return !pool_stopping(&run->pool);
	add_failure(run, run->each.select->files_from, errno);
	return false;
}

/* The next of the list, as list_next. */
static int
next_entry(struct each_run *run, struct walk_entry *entry)
{
	*entry = (struct walk_entry){ .path = "" };
	if (run->each.next)
		return run->each.next(&run->list, entry, run->each.argument);
	return list_next(&run->list, &entry->path);
}

static void
walk_list(struct each_run *run)
{
	struct walk_entry entry;
	int got;

	while ((got = next_entry(run, &entry)) != 0) {
		entry.length = strlen(entry.path);
		if (got > 0 && entry.part_count)
			each_named(run, &entry);
		else if (got > 0)
			walk_operand(&run->walk, entry.path);
		else if (errno != EAGAIN)
			add_failure(run, *entry.path ? entry.path : run->each.select->files_from,
			    errno == EINVAL ? HOLDS_NUL : errno);
		else if (!refill(run))
			break;
	}
}

static void
produce(struct pool *pool, void *argument)
{
	struct each_run *run = argument;
	const char *files_from = run->each.select->files_from;

	for (; run->operand < run->count && !pool_stopping(pool); run->operand++) {
		if (run->each.find)
			run->each.find(run->operand, run, run->each.argument);
		else
			walk_operand(&run->walk, run->operands[run->operand]);
		finish_operand(run, run->operands[run->operand]);
	}
	if (files_from && !pool_stopping(pool)) {
		walk_list(run);
		finish_operand(run, files_from);
	}
	submit(run);
}

/* Whether it is a file that was reported under another name. */
static bool
is_repeated(struct each_run *run, struct each_file *file)
{
	int added;

	/* parts of a file may come in several pieces */
	if (!each_counts_once(run, file))
		return false;
	added = links_add(&run->seen, file->status.st_dev, file->status.st_ino);
	if (added < 0)
		file->error = errno;
	return added == 0;
}

static void
collect(struct pool_job *job, void *argument)
{
	struct each_run *run = argument;
	const struct each *each = &run->each;
	struct batch *batch = (struct batch *)job;

	for (size_t i = 0; i < job->count; i++) {
		struct batch_item *item = &batch->items[i];

		if (!item->finished)
			continue;
		if (item->kind == BATCH_OPERAND_DONE) {
			if (each->operand_done)
				each->operand_done(item->file.operand, item->file.path,
				    each->argument);
		} else if (item->kind == BATCH_FOLDER_DONE) {
			each->folder_done(item->file.operand, item->file.path, item->file.depth,
			    each->argument);
		} else if (item->file.error || !is_repeated(run, &item->file))
			each->report(&item->file, each->argument);
		else if (each->repeated)
			each->repeated(item->file.operand, each->argument);
	}
	batch_clear(batch);
}

static bool
breathe(void *argument)
{
	struct each_run *run = argument;

	return run->each.breathe(run->each.argument);
}

static void
run_free(struct each_run *run)
{
	for (size_t i = 0; run->batches && i < run->pool.size; i++)
		batch_free(&run->batches[i]);
	if (run->each.release && run->results)
		for (size_t i = 0; i < run->pool.size * BATCH_ITEMS; i++)
			run->each.release(run->results + i * run->each.result_size);
	free(run->batches);
	free(run->results);
	free(run->notes);
	free(run->trays);
	twins_free(&run->twins);
	free(run->pool.jobs);
	links_free(&run->seen);
	walk_free(&run->walk);
	list_close(&run->list);
	free(run);
}

static unsigned
processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : count > 64 ? 64 : (unsigned)count;
}

static size_t
batches_for(unsigned workers)
{
	return MIN_BATCHES > 2 * workers ? MIN_BATCHES : 2 * workers;
}

size_t
each_ahead(unsigned workers)
{
	return batches_for(workers ? workers : processors()) * BATCH_ITEMS;
}

/* How many files may be open beside those of the walk, the list and the output. */
static size_t
spare_files(void)
{
	const size_t others = WALK_OPEN + 16;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur > others ? (size_t)limit.rlim_cur - others : 0;
}

/* As many workers, and files of each, as may be open at a time, with the folders of two batches
 * for each worker. */
static void
choose_sizes(struct each_run *run)
{
	const size_t folders = (size_t)2 * BATCH_FOLDERS;
	struct pool *pool = &run->pool;
	size_t spare = spare_files(), most = spare / (1 + folders);

	pool->workers = run->each.workers ? run->each.workers : processors();
	if (pool->workers > most)
		pool->workers = most ? (unsigned)most : 1;
	pool->size = batches_for(pool->workers);
	if (pool->size * BATCH_FOLDERS + pool->workers > spare)
		pool->size = (size_t)2 * pool->workers;
	run->tray_size = 1;
	if (spare > pool->size * BATCH_FOLDERS + pool->workers)
		run->tray_size = (spare - pool->size * BATCH_FOLDERS) / pool->workers;
	if (run->tray_size > EACH_TOGETHER)
		run->tray_size = EACH_TOGETHER;
}

static int
allocate(struct each_run *run)
{
	struct pool *pool = &run->pool;

	choose_sizes(run);
	pool->jobs = calloc(pool->size, sizeof *pool->jobs);
	run->batches = calloc(pool->size, sizeof *run->batches);
	run->results = calloc(pool->size * BATCH_ITEMS, run->each.result_size + 1);
	run->notes = calloc(pool->size * BATCH_ITEMS, run->each.note_size + 1);
	if (!pool->jobs || !run->batches || !run->results || !run->notes)
		return -1;
	pool->share = 1;
	if (run->each.gathers) {
		pool->share = BATCH_ITEMS;
		pool->settle = each_settle;
		run->trays = calloc(pool->workers, sizeof *run->trays);
		if (!run->trays)
			return -1;
	}
	if (run->each.shares &&
	    twins_begin(&run->twins, pool->size * BATCH_ITEMS, run->each.result_size) < 0)
		return -1;
	for (size_t i = 0; i < pool->size; i++) {
		pool->jobs[i] = &run->batches[i].job;
		run->batches[i].results = run->results + i * BATCH_ITEMS * run->each.result_size;
		run->batches[i].notes = run->notes + i * BATCH_ITEMS * run->each.note_size;
		run->batches[i].note_size = run->each.note_size;
	}
	return 0;
}

int
each_run(const struct each *each, char **operands, size_t count)
{
	struct each_run *run = calloc(1, sizeof *run);
	int result = -1, error;

	if (!run)
		return -1;
	run->each = *each;
	run->operands = operands;
	run->count = count;
	run->list.fd = -1;
	run->walk = (struct walk){ .select = each->select,
		.in_order = each->in_order,
		.by_place = each->by_place,
		.argument = run,
		.found = found,
		.left = each->folder_done ? left : NULL,
		.go_on = go_on };
	run->pool = (struct pool){ .argument = run,
		.produce = produce,
		.run = each_work,
		.collect = collect,
		.breathe = each->breathe ? breathe : NULL };
	if ((!each->select->files_from ||
		list_open(&run->list, each->select->files_from, each->select->nul) == 0) &&
	    allocate(run) == 0)
		result = pool_run(&run->pool);
	if (result > 0)
		return 1; /* what the thread uses stays */
	error = result < 0 ? errno : atomic_load(&run->lost);
	run_free(run);
	errno = error;
	return error ? -1 : 0;
}

void
each_explain(const struct each *each, int error)
{
	const char *jobs = each->workers > 1 ? ", or have fewer by --jobs" : "";

	if (error == EAGAIN)
		diag_error("cannot start: not even two threads: raise the limit (ulimit -u or -v, "
			   "pids.max of the cgroup, TasksMax= of the unit)");
	else if (error == ENOMEM)
		diag_error("cannot start: no memory for %u threads: raise the limit (ulimit -v)%s",
		    each->workers ? each->workers : processors(), jobs);
	else
		diag_file(each->select->files_from ? each->select->files_from : "cannot start",
		    error);
}

const char *
each_error(const struct each_file *file)
{
	switch (file->error) {
	case EMFILE:
		return "too many open files: raise the limit (ulimit -n)";
	case ENFILE:
		return "too many open files on this machine: raise fs.file-max (sysctl)";
	case ESPIPE:
		return "not a file, folder or block device";
	case HOLDS_NUL:
		return "the list holds NUL: -0 (--null) reads such";
	case LIST_CUT:
		return "the list ends here, with no NUL behind this name: it may be cut off";
	case ERANGE:
		return "a range of it ends beyond 2^64 bytes";
	case ENOENT:
		if (file->path[0] == '-')
			return "No such file or directory (options go before the operands)";
		return strerror(ENOENT);
	default:
		return strerror(file->error);
	}
}
