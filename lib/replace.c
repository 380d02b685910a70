/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patient.h"

#define MAX_LINKS 40 /* as the kernel follows */

/* Where the link PATH points, TARGET, seen from where we are. */
static char *
beside(const char *path, const char *target)
{
	const char *slash = strrchr(path, '/');
	char *joined;

	if (*target == '/' || !slash)
		return strdup(target);
	if (asprintf(&joined, "%.*s/%s", (int)(slash - path), path, target) < 0)
		return NULL;
	return joined;
}

/* The file that PATH would create: a link may point to one that is not there yet. */
static char *
find_absent(const char *path)
{
	char *found = strdup(path), *next;
	char target[PATH_MAX];

	for (int links = 0; found; links++, found = next) {
		ssize_t length = readlink(found, target, sizeof target - 1);

		if (length < 0)
			return found;
		target[length] = '\0';
		next = links < MAX_LINKS ? beside(found, target) : NULL;
		if (links == MAX_LINKS)
			errno = ELOOP;
		free(found);
	}
	return NULL;
}

int
replace_init(struct replace *replace, const char *path)
{
	struct stat status;

	*replace = (struct replace){ .path = realpath(path, NULL) };
	if (!replace->path && errno == ENOENT) {
		/* links of /proc/PID/fd lead where no path does: to pipes, and to deleted files */
		replace->nameless = stat(path, &status) == 0;
		replace->path = replace->nameless ? strdup(path) : find_absent(path);
	}
	return replace->path ? 0 : -1;
}

static bool
is_replaceable(const struct replace *replace)
{
	struct stat status;

	return !replace->nameless && (stat(replace->path, &status) < 0 || S_ISREG(status.st_mode));
}

/* The owner, as far as we may, and the mode that the file has now, or those that a plain
 * open(2) would give. */
static void
take_over(int fd, const char *path)
{
	struct stat status;
	mode_t mask;

	if (stat(path, &status) == 0) {
		/* before the mode, which it may change */
		if (fchown(fd, status.st_uid, status.st_gid) < 0 &&
		    fchown(fd, (uid_t)-1, status.st_gid) < 0) {
			/* then it is ours */
		}
		fchmod(fd, status.st_mode & 07777);
		return;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
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

#define SUFFIX ".XXXXXX"

/* Beside the file, with what fits of its name. */
static int
open_temporary(struct replace *replace)
{
	const char *slash = strrchr(replace->path, '/'), *name = slash ? slash + 1 : replace->path;
	int most = (int)(name - replace->path) + NAME_MAX - (int)strlen(SUFFIX), fd;

	if (asprintf(&replace->temporary, "%.*s" SUFFIX, most, replace->path) < 0) {
		replace->temporary = NULL;
		return -1;
	}
	fd = mkostemp(replace->temporary, O_CLOEXEC);
	if (fd < 0)
		forget_temporary(replace);
	else
		take_over(fd, replace->path);
	return fd;
}

/* A FIFO that nobody reads (ENXIO) is not waited for: nothing would end the wait. A socket cannot
 * be opened. */
static int
open_in_place(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	else if (errno == ENXIO && stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		errno = EOPNOTSUPP;
	return fd;
}

int
replace_begin(struct replace *replace)
{
	int fd;

	if (is_replaceable(replace))
		fd = open_temporary(replace);
	else
		fd = open_in_place(replace->path);
	if (fd < 0)
		return -1;
	replace->fd = fd;
	replace->stream = replace->temporary ? fdopen(fd, "w") : patient_stream(fd, true);
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
		failed = failed || fsync(replace->fd) < 0;
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
