/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
replace_init(struct replace *replace, const char *path)
{
	*replace = (struct replace){ .path = realpath(path, NULL) };
	if (!replace->path && errno == ENOENT)
		replace->path = strdup(path);
	return replace->path ? 0 : -1;
}

static bool
is_replaceable(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || S_ISREG(status.st_mode);
}

/* The mode that a plain open(2) would give, or that the file has now. */
static mode_t
file_mode(const char *path)
{
	struct stat status;
	mode_t mask;

	if (stat(path, &status) == 0)
		return status.st_mode & 07777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static void
forget_temporary(struct replace *replace)
{
	free(replace->temporary);
	replace->temporary = NULL;
}

static void
remove_temporary(struct replace *replace)
{
	int error = errno;

	if (replace->temporary)
		unlink(replace->temporary);
	forget_temporary(replace);
	errno = error;
}

static int
open_temporary(struct replace *replace)
{
	int fd;

	if (asprintf(&replace->temporary, "%s.XXXXXX", replace->path) < 0) {
		replace->temporary = NULL;
		return -1;
	}
	fd = mkostemp(replace->temporary, O_CLOEXEC);
	if (fd < 0)
		forget_temporary(replace);
	else
		fchmod(fd, file_mode(replace->path));
	return fd;
}

int
replace_begin(struct replace *replace)
{
	int fd;

	if (is_replaceable(replace->path))
		fd = open_temporary(replace);
	else
		fd = open(replace->path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	replace->stream = fdopen(fd, "w");
	if (!replace->stream) {
		remove_temporary(replace);
		close(fd);
		return -1;
	}
	return 0;
}

int
replace_commit(struct replace *replace)
{
	FILE *stream = replace->stream;
	bool failed = fflush(stream) != 0 || ferror(stream);

	replace->stream = NULL;
	if (replace->temporary)
		failed = failed || fsync(fileno(stream)) < 0;
	failed = fclose(stream) != 0 || failed;
	if (replace->temporary)
		failed = failed || rename(replace->temporary, replace->path) < 0;
	if (failed) {
		remove_temporary(replace);
		return -1;
	}
	forget_temporary(replace);
	return 0;
}

void
replace_drop(struct replace *replace)
{
	if (replace->stream)
		fclose(replace->stream);
	remove_temporary(replace);
	free(replace->path);
	*replace = (struct replace){ 0 };
}
