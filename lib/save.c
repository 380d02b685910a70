/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "save.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "fullpath.h"
#include "heat.h"
#include "opts.h"
#include "ranges.h"

static enum status
fail(const struct save *save)
{
	if (errno == ENXIO)
		diag_error("%s: nobody reads it", save->path);
	else
		diag_file(save->path, errno);
	return STATUS_FAILED;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder that a file is in; false where it is not to be found. */
static bool
look_at_folder(const char *path, struct stat *status)
{
	char *copy = strdup(path);
	bool found = copy && stat(dirname(copy), status) == 0;

	free(copy);
	return found;
}

/* Whether both will have the same name in the same folder, whatever way led there. */
static bool
is_same_place(const struct replace *a, const struct replace *b)
{
	struct stat folder, other;

	return a->temporary && b->temporary && strcmp(basename(a->path), basename(b->path)) == 0 &&
	    look_at_folder(a->path, &folder) && look_at_folder(b->path, &other) &&
	    is_same(&folder, &other);
}

static void
add_own(struct save *save, int fd, const struct replace *file)
{
	struct stat *own = &save->own[save->own_count];

	if (fstat(fd, own) == 0)
		own = &save->own[++save->own_count];
	if (file->path && stat(file->path, own) == 0)
		save->own_count++;
}

enum status
save_begin(struct save *save, const char *path, const struct out *report)
{
	save->path = path;
	save->folder = getcwd(NULL, 0);
	frames_begin(&save->frames);
	if (snapshot_create(&save->writer, path) < 0)
		return fail(save);
	if (is_same_place(&save->writer.to, &report->file))
		return opts_misuse("the report and the snapshot cannot both be %s", path);
	add_own(save, save->writer.to.fd, &save->writer.to);
	add_own(save, report->fd, &report->file);
	return STATUS_DONE;
}

int
save_look(const struct save *save, const struct each_file *file, struct residency *residency,
    struct snapshot_ranges *ranges)
{
	struct ranges present = { 0 };
	struct residency proved;
	int result = 0;

	if (!residency->resident)
		return 0;
	residency_prove(file->fd, &file->status, file->offset, file->length, &proved);
	if (proved.method == RESIDENCY_UNKNOWN)
		*residency = proved;
	else if (ranges_present(&present, file->fd, file->offset, file->length) < 0 ||
	    heat_split(&save->frames, file->fd, &present, ranges) < 0)
		result = -1;
	ranges_free(&present);
	return result;
}

/* The snapshot and the report may lie among the files, with what they replace. */
static bool
is_own(const struct save *save, const struct stat *file)
{
	for (size_t i = 0; i < save->own_count; i++)
		if (is_same(&save->own[i], file))
			return true;
	return false;
}

/* Not so where it was deleted, or named by who sees other mounts. */
static bool
leads_to(const char *path, const struct stat *file)
{
	struct stat status;

	return stat(path, &status) == 0 && is_same(&status, file);
}

void
save_add(struct save *save, const struct each_file *file, const struct snapshot_ranges *ranges)
{
	struct snapshot_file now = { .ranges = *ranges };
	char *path;

	if (!save->path || !ranges->count || is_own(save, &file->status) ||
	    (save->strangers && !leads_to(file->path, &file->status)))
		return;
	path = fullpath(save->folder, file->path);
	snapshot_identify(&now, &file->status);
	now.path = path;
	if (!path || snapshot_add(&save->writer, &now) < 0)
		diag_error("%s: not in the snapshot: %s", file->path, strerror(errno));
	free(path);
}

enum status
save_end(struct save *save, bool whole)
{
	enum status status = STATUS_DONE;

	if (save->path && whole && snapshot_commit(&save->writer) < 0)
		status = fail(save);
	snapshot_drop(&save->writer);
	free(save->folder);
	*save = (struct save){ 0 };
	return status;
}
