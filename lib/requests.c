/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "accesslog.h"
#include "diag.h"
#include "folder.h"
#include "walk.h"

#define LINE 65536 /* bytes that a line is shorter than */
#define LOOK 100   /* between looks at a stop, in ms */

#define NUMBER(n) ((unsigned long long)(n))

enum status
requests_begin(struct requests *requests)
{
	size_t length = strlen(requests->root);

	if (list_open(&requests->log, requests->path, false) < 0) {
		diag_file(requests->path, errno);
		return STATUS_FAILED;
	}
	requests->log.limit = LINE;
	requests->top = folder_open(NULL, requests->root, 0);
	requests->name_size = length + 2 + PATH_MAX;
	requests->name = requests->top ? malloc(requests->name_size) : NULL;
	if (!requests->name) {
		diag_file(requests->root, errno);
		return STATUS_FAILED;
	}
	memcpy(requests->name, requests->root, length);
	if (length && requests->name[length - 1] != '/')
		requests->name[length++] = '/';
	requests->root_length = length;
	return STATUS_DONE;
}

/* Counts a line; -1 with ENOMEM. */
static int
take(struct requests *requests, char *line)
{
	const char *path;

	switch (accesslog_parse(line, &path)) {
	case ACCESSLOG_FILE:
		requests->requests++;
		return popular_add(&requests->popular, path);
	case ACCESSLOG_OTHER:
		requests->others++;
		return 0;
	case ACCESSLOG_REFUSED:
		requests->refused++;
		return 0;
	default:
		requests->rubbish++;
		return 0;
	}
}

/* More of the log: 1, 0 at a stop, -1 with errno. */
static int
refill(struct requests *requests, struct each_run *run)
{
	while (!list_ready(&requests->log, LOOK))
		if (!each_go_on(run))
			return 0;
	return list_fill(&requests->log) < 0 ? -1 : each_go_on(run);
}

/* Reads the log to its end: 1, 0 at a stop, -1 with errno. */
static int
read_log(struct requests *requests, struct each_run *run)
{
	const char *line;
	int got, filled = 1;

	while (filled > 0 && (got = list_next(&requests->log, &line)) != 0) {
		if (got > 0 && take(requests, (char *)line) < 0)
			return -1;
		if (got < 0 && errno == EAGAIN)
			filled = refill(requests, run);
		else if (got < 0)
			requests->rubbish++; /* too long, or it holds NUL */
	}
	return filled;
}

/* One folder further down: NULL with errno, ELOOP for a link that is not followed. */
static struct folder *
descend(const struct requests *requests, struct folder *parent, const char *name)
{
	int flags = requests->follow ? 0 : O_NOFOLLOW;
	struct folder *folder = folder_open(parent, name, flags);
	struct stat status;

	if (folder && folder_is_pseudo(folder_fd(folder))) {
		folder_release(folder);
		errno = ENOENT; /* what is not kept in the page cache, and may do things */
		return NULL;
	}
	if (!folder && errno == ENOTDIR &&
	    fstatat(folder_fd(parent), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
	return folder;
}

/* The folder that LENGTH bytes of PATH name below the root, which they cannot leave: there is no
 * ".." in them, and no link is followed. NULL with errno; to be released. */
static struct folder *
enter(const struct requests *requests, const char *path, size_t length)
{
	struct folder *folder = folder_hold(requests->top), *next;
	char name[NAME_MAX + 1];

	for (size_t at = 0; folder && at < length;) {
		size_t part = strcspn(path + at, "/");

		errno = ENAMETOOLONG;
		next = NULL;
		if (part < sizeof name) {
			memcpy(name, path + at, part);
			name[part] = '\0';
			next = descend(requests, folder, name);
		}
		folder_release(folder);
		folder = next;
		at += part + 1;
	}
	return folder;
}

/* Enters the folder of PATH, unless the last one is it: 0, or the errno of what failed. */
static int
enter_once(struct requests *requests, const char *path, size_t length)
{
	const char *last = requests->name + requests->root_length;

	if (requests->folder && requests->entered == length && memcmp(last, path, length) == 0)
		return 0;
	folder_release(requests->folder);
	requests->entered = length;
	requests->folder = enter(requests, path, length);
	return requests->folder ? 0 : errno;
}

static void
find_one(struct requests *requests, struct each_run *run, const struct popular_name *one)
{
	const char *path = popular_name(&requests->popular, one), *slash = strrchr(path, '/');
	size_t length = strlen(path), folder = slash ? (size_t)(slash - path) + 1 : 0;
	int error = enter_once(requests, path, folder);

	memcpy(requests->name + requests->root_length, path, length + 1);
	each_named(run,
	    &(struct walk_entry){ .path = requests->name,
		.length = requests->root_length + length,
		.name = requests->root_length + folder,
		.folder = requests->folder,
		.error = error,
		.note = &one->times });
}

static void
find(struct each_run *run, void *self)
{
	struct requests *requests = self;
	int got = read_log(requests, run);

	if (got < 0)
		each_failed(run, requests->path, errno);
	if (got <= 0)
		return;
	popular_sort(&requests->popular);
	for (size_t i = 0; i < requests->popular.count && each_go_on(run); i++)
		find_one(requests, run, &requests->popular.list[i]);
}

static void
add(struct requests_sum *sum, const struct each_file *file, const char *what)
{
	uint64_t times = *(const uint64_t *)file->note;

	sum->files++;
	sum->requests += times;
	diag_detail("%s: %s, requested %llu times", file->path, what, NUMBER(times));
}

static bool
count(const struct each_file *file, struct tally *single, void *self)
{
	struct requests *requests = self;

	if (!file->note || single->outcome.files)
		return true;
	switch (file->error) {
	case ELOOP:
		add(requests->follow ? &requests->missing : &requests->linked, file,
		    "a symbolic link, or behind one");
		break;
	case ENOENT:
	case ENOTDIR:
	case EISDIR:
	case ENAMETOOLONG:
	case ESPIPE:
		add(&requests->missing, file, "not there");
		break;
	default:
		return true;
	}
	*single = (struct tally){ 0 }; /* it was made by a program, or is gone since: no failure */
	return false;
}

/* What the log had that is of no use. */
static void
explain_lines(const struct requests *requests)
{
	if (requests->rubbish)
		diag_note("%s: %llu lines are not in the common or combined log format",
		    requests->path, NUMBER(requests->rubbish));
	if (requests->refused)
		diag_note("%s: %llu requests were for what can be no file below %s", requests->path,
		    NUMBER(requests->refused), requests->root);
}

static void
explain_files(const struct requests *requests)
{
	if (requests->missing.files)
		diag_note("%llu requests were for %llu files that are not below %s",
		    NUMBER(requests->missing.requests), NUMBER(requests->missing.files),
		    requests->root);
	if (requests->linked.files)
		diag_note("%llu requests were for %llu files behind symbolic links, which "
			  "--follow follows",
		    NUMBER(requests->linked.requests), NUMBER(requests->linked.files));
}

static enum status
end(void *self)
{
	const struct requests *requests = self;
	const struct popular *popular = &requests->popular;
	enum status status = STATUS_DONE;

	diag_detail("%s: %llu requests for %llu files", requests->path, NUMBER(requests->requests),
	    NUMBER(popular->count));
	explain_lines(requests);
	explain_files(requests);
	if (popular->beyond) {
		diag_error(
		    "%s: %llu requests were for more files than are kept in memory (%d, with "
		    "names of %u MiB) and were left out",
		    requests->path, NUMBER(popular->beyond), POPULAR_NAMES, POPULAR_BYTES >> 20);
		status = STATUS_PART;
	}
	if (requests->rubbish && !requests->requests && !requests->others && !requests->refused) {
		diag_error("%s: no line of it is of an access log", requests->path);
		status = STATUS_FAILED;
	}
	if (popular->count && requests->missing.files + requests->linked.files == popular->count) {
		diag_error(
		    "%s has none of the files that were requested: --root is the folder that "
		    "the server has for /",
		    requests->root);
		status = STATUS_FAILED;
	}
	return status;
}

const struct source requests_source = {
	.note_size = sizeof(uint64_t),
	.find = find,
	.count = count,
	.end = end,
};
