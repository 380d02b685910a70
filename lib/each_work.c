/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "each_run.h"
#include "opening.h"
#include "stop.h"

#define CLOSING 2000000ULL /* ns between tries to open where too many files are open */
#define MOMENT  50         /* such tries */

static void
clear_result(const struct each_run *run, void *result)
{
	if (run->each.release)
		run->each.release(result);
	memset(result, 0, run->each.result_size);
}

static void
close_file(struct each_run *run, struct each_file *file)
{
	if (file->fd >= 0) {
		close(file->fd);
		atomic_fetch_sub(&run->open, 1);
	}
	file->fd = -1;
}

bool
each_counts_once(const struct each_run *run, const struct each_file *file)
{
	const struct select *select = run->each.select;

	return !select->count_links && !file->parts &&
	    (file->status.st_nlink > 1 || select->follow);
}

/* A file has been worked on. */
static void
finish_file(struct each_run *run, struct each_file *file)
{
	if (run->each.shares && each_counts_once(run, file))
		twins_done(&run->twins, &file->status, file->result, file->error);
	close_file(run, file);
}

static void
work_on_tray(struct each_run *run, struct tray *tray)
{
	if (tray->count)
		run->each.work_together(tray->files, tray->count, run->each.argument);
	while (tray->count)
		finish_file(run, tray->files[--tray->count]);
}

/* Whether another name of the file was worked on, or is: then that is the result. */
static bool
is_shared(struct each_run *run, struct tray *tray, struct each_file *file)
{
	if (!run->each.shares || !each_counts_once(run, file) ||
	    twins_claim(&run->twins, &file->status))
		return false;
	if (tray)
		work_on_tray(run, tray); /* it may be in there, or what another waits for */
	close_file(run, file);
	file->error = twins_take(&run->twins, &file->status, file->result);
	return true;
}

void
each_settle(const struct pool_claim *claim, void *argument)
{
	struct each_run *run = argument;

	work_on_tray(run, &run->trays[claim->worker]);
}

/* As opening_open; counts what is open. */
static int
open_counted(struct each_run *run, struct batch_item *item, const char *name)
{
	int opened = opening_open(item, name, &run->each), error = errno;

	if (item->file.fd >= 0)
		atomic_fetch_add(&run->open, 1);
	errno = error;
	return opened;
}

/* As opening_open; where too many files are open for one more, those in the tray need not be, and
 * what other workers have open is waited for, and for a moment what the walk has. */
static int
open_beside(struct each_run *run, struct tray *tray, struct batch_item *item, const char *name)
{
	int opened = open_counted(run, item, name);

	if (opened < 0 && errno == EMFILE && tray)
		work_on_tray(run, tray);
	for (int tries = 0; opened < 0 && errno == EMFILE && tries < MOMENT; tries++) {
		if (pool_stopping(&run->pool))
			break;
		if (atomic_load(&run->open))
			tries = 0;
		stop_sleep(stop_now() + CLOSING, -1);
		opened = open_counted(run, item, name);
	}
	return opened;
}

/* Works on the file of CLAIM, which is open: at once, or with others. */
static void
work_on(struct each_run *run, struct tray *tray, struct each_file *file, struct pool_claim *claim)
{
	if (tray && run->each.gathers(file, run->each.argument)) {
		tray->files[tray->count++] = file;
		if (tray->count == run->tray_size)
			work_on_tray(run, tray);
		return;
	}
	if (tray)
		work_on_tray(run, tray); /* they need not wait for what may take long */
	pool_hand_on(&run->pool, claim);
	run->each.work(file, run->each.argument);
	finish_file(run, file);
}

static void
look_at(struct each_run *run, struct tray *tray, struct batch_item *item, struct pool_claim *claim)
{
	struct batch *batch = (struct batch *)claim->job;
	struct each_file *file = &item->file;

	opening_set_range(file, batch->parts + item->part, &run->each.select->range);
	if (run->each.look)
		run->each.look(file, run->each.argument);
	if (file->error)
		close_file(run, file);
	else if (!is_shared(run, tray, file))
		work_on(run, tray, file, claim);
}

void
each_work(struct pool_claim *claim, void *argument)
{
	struct each_run *run = argument;
	struct batch *batch = (struct batch *)claim->job;
	struct batch_item *item = &batch->items[claim->item];
	struct tray *tray = run->trays ? &run->trays[claim->worker] : NULL;
	int opened = -1;

	clear_result(run, item->file.result); /* of an earlier file */
	if (item->kind <= BATCH_HELD) {
		opened = open_beside(run, tray, item, batch->names + item->name);
		if (opened < 0)
			item->file.error = errno;
		if (opened > 0)
			look_at(run, tray, item, claim);
		else
			close_file(run, &item->file);
	}
	item->finished = opened != 0;
}
