/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "fullpath.h"

static enum status
fail(const struct save *save)
{
	if (errno == ENXIO)
		diag_error("%s: nobody reads it", save->path);
	else
		diag_file(save->path, errno);
	return STATUS_FAILED;
}

enum status
save_begin(struct save *save, const char *path)
{
	*save = (struct save){ .path = path, .folder = getcwd(NULL, 0) };
	return snapshot_create(&save->writer, path) < 0 ? fail(save) : STATUS_DONE;
}

/* The snapshot being written may lie among the files, under a name that will not stay. */
static bool
is_itself(const struct save *save, const struct stat *file)
{
	struct stat status;

	return fstat(fileno(save->writer.to.stream), &status) == 0 &&
	    status.st_dev == file->st_dev && status.st_ino == file->st_ino;
}

void
save_add(struct save *save, const struct each_file *file, const struct snapshot_ranges *ranges)
{
	struct snapshot_file now = { .ranges = *ranges };
	char *path;

	if (!save->path || !ranges->count || is_itself(save, &file->status))
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
