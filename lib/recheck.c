/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recheck.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "preload.h"
#include "residency.h"
#include "stop.h"
#include "vmstat.h"
#include "walk.h"

#define NSEC 1000000000ULL

/* What goes with a file to a worker and back. */
struct note {
	uint64_t operand, device, inode, length, resident;
};

/* What a worker finds. */
struct found {
	uint64_t resident;
};

static uint64_t
reclaimed(void)
{
	struct vmstat vmstat;

	return vmstat_read("", &vmstat) < 0 ? VMSTAT_UNKNOWN : vmstat.pgsteal_file;
}

void
recheck_begin(struct recheck *recheck)
{
	recheck->reclaimed = reclaimed();
	recheck->start = stop_now();
}

void
recheck_note(struct recheck *recheck, const struct each_file *file, uint64_t resident)
{
	if (claims_add(&recheck->claims, file, resident) < 0) {
		recheck->beyond++;
		return;
	}
	recheck->files++;
	recheck->bytes += resident;
}

/* What the kernel does not count (DAMON, fadvise of others) takes its time. */
bool
recheck_is_due(const struct recheck *recheck)
{
	uint64_t seconds = (stop_now() - recheck->start) / NSEC, now;

	if (recheck->files / RECHECK_FILES <= seconds)
		return recheck->files + recheck->beyond > 0;
	now = reclaimed();
	return now == VMSTAT_UNKNOWN || recheck->reclaimed == VMSTAT_UNKNOWN ||
	    (now - recheck->reclaimed) >= recheck->bytes / residency_page_size() / RECHECK_PART;
}

/* The folder that the first LENGTH bytes of PATH name, which may be more than a call takes: NULL
 * with errno. */
static struct folder *
open_folder(const char *path, size_t length)
{
	struct folder *folder = NULL, *next;
	char part[PATH_MAX];

	while (length > 0) {
		size_t size = length;

		while (size >= sizeof part || (size < length && path[size] != '/'))
			size--;
		memcpy(part, path, size);
		part[size] = '\0';
		next = folder_open(folder, part, 0);
		folder_release(folder);
		if (!next)
			return NULL;
		folder = next;
		for (; size < length && path[size] == '/'; size++)
			;
		path += size;
		length -= size;
	}
	return folder;
}

/* The folder that was entered last. */
struct entered {
	struct folder *folder;
	char *path;
	size_t length;
	int error;
};

/* Of CLAIM, whose name begins behind LENGTH bytes of its path. */
static void
enter(struct entered *entered, const struct claim *claim, size_t length)
{
	char *path;

	if (entered->path && entered->length == length &&
	    memcmp(entered->path, claim->path, length) == 0)
		return;
	folder_release(entered->folder);
	entered->folder = NULL;
	entered->error = 0;
	entered->length = 0;
	path = realloc(entered->path, length + 1);
	if (!path) {
		entered->error = ENOMEM;
		return;
	}
	memcpy(path, claim->path, length);
	entered->path = path;
	entered->length = length;
	if (length && !(entered->folder = open_folder(path, length)))
		entered->error = errno;
}

static void
find_one(struct each_run *run, const struct claim *claim, struct entered *entered)
{
	const char *slash = strrchr(claim->path, '/');
	size_t name = slash ? (size_t)(slash - claim->path) + 1 : 0;
	struct note note = { claim->operand, claim->device, claim->inode, 0, claim->resident };

	for (size_t i = 0; i < claim->part_count; i++)
		note.length += claim->parts[i].length;
	enter(entered, claim, name);
	each_named(run,
	    &(struct walk_entry){ .path = claim->path,
		.length = strlen(claim->path),
		/* only an operand may be a block device */
		.name = claim->disk ? 0 : name,
		.folder = claim->disk ? NULL : entered->folder,
		.error = claim->disk ? 0 : entered->error,
		.parts = claim->parts,
		.part_count = claim->part_count,
		.note = &note });
}

static void
find(size_t operand, struct each_run *run, void *argument)
{
	const struct recheck *recheck = argument;
	struct claims_reader reader = { .claims = &recheck->claims };
	struct entered entered = { 0 };
	struct claim claim;
	int got;

	(void)operand;
	while ((got = claims_next(&reader, &claim)) > 0 && !stop_asked())
		find_one(run, &claim, &entered);
	if (got < 0)
		each_failed(run, "", ENOMEM);
	folder_release(entered.folder);
	free(entered.path);
	claims_reader_free(&reader);
}

static void
look(struct each_file *file, void *argument)
{
	const struct note *note = file->note;

	(void)argument;
	if (file->status.st_dev != note->device || file->status.st_ino != note->inode)
		file->error = ESTALE;
}

static void
work(struct each_file *file, void *argument)
{
	struct found *found = file->result;

	(void)argument;
	for (size_t i = 0; i < file->part_count && !file->error; i++) {
		const struct num_range *part = &file->parts[i];
		struct residency seen;
		uint64_t bytes;

		if (preload_recount(file->fd, &file->status, part->offset, part->length, &bytes,
			&seen))
			found->resident += bytes;
		else
			file->error = seen.error ? seen.error : EPERM;
	}
}

static bool
is_gone(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ELOOP:
	case EISDIR:
	case ESPIPE:
	case ESTALE:
		return true;
	default:
		return false;
	}
}

static void
report(const struct each_file *file, void *argument)
{
	struct recheck *recheck = argument;
	const struct note *note = file->note;
	const struct found *found = file->result;
	struct recheck_change change = { .path = file->path };

	if (!note) { /* what find has failed at */
		recheck->beyond++;
		return;
	}
	change.operand = note->operand;
	change.before = note->resident;
	if (is_gone(file->error))
		change.gone = note->resident;
	else if (file->error)
		change.error = file->error;
	else
		change.now = found->resident;
	if (!file->error && change.now < change.before)
		change.gone = num_least(change.before - change.now, note->length - file->length);
	if (change.error || change.now != change.before)
		recheck->changed(&change, recheck->argument);
}

int
recheck_run(struct recheck *recheck, unsigned workers)
{
	static struct select all = SELECT_ALL;
	static char *name = "";
	const struct each each = {
		.select = &all,
		.workers = workers,
		.result_size = sizeof(struct found),
		.note_size = sizeof(struct note),
		.find = find,
		.look = look,
		.work = work,
		.report = report,
		.argument = recheck,
	};

	all.follow = all.count_links = true;
	return each_run(&each, &name, 1);
}

void
recheck_free(struct recheck *recheck)
{
	claims_free(&recheck->claims);
}
