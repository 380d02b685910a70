/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "num.h"

#define TEXT       1024
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* The file NAME of process PID into TEXT, as a string. */
static int
read_file(const char *root, pid_t pid, const char *name, char text[static TEXT])
{
	char *path = NULL;
	ssize_t length;
	int fd, error;

	if (asprintf(&path, "%s/proc/%d/%s", root, (int)pid, name) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return -1;
	length = read(fd, text, TEXT - 1);
	error = errno;
	close(fd);
	errno = error;
	if (length < 0)
		return -1;
	text[length] = '\0';
	return 0;
}

/* Fields of /proc/PID/stat, counted from the one behind the command's name. */
enum { STATE, PARENT, FLAGS = 6, OWN_FAULTS = 9, CHILDREN_FAULTS, STARTED = 19, FIELDS };

/* Takes TEXT apart into its FIELDS; false where it has fewer. */
static bool
take_fields(char *text, char *fields[static FIELDS])
{
	/* the command's name, in parentheses, may itself hold some */
	char *rest = strrchr(text, ')');

	if (!rest || !strsep(&rest, " "))
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		if (!(fields[i] = strsep(&rest, " ")))
			return false;
	return true;
}

int
procs_look(const char *root, struct procs_one *one)
{
	char text[TEXT], *fields[FIELDS];
	uint64_t parent, flags, own, children;

	if (read_file(root, one->pid, "stat", text) < 0)
		return -1;
	if (!take_fields(text, fields) || num_count(fields[PARENT], &parent) < 0 ||
	    num_count(fields[FLAGS], &flags) < 0 || num_count(fields[OWN_FAULTS], &own) < 0 ||
	    num_count(fields[CHILDREN_FAULTS], &children) < 0 ||
	    num_count(fields[STARTED], &one->started) < 0) {
		errno = EINVAL;
		return -1;
	}
	one->parent = (pid_t)parent;
	one->dead = *fields[STATE] == 'Z';
	one->kernel = flags & PF_KTHREAD;
	one->faults = own + children;
	return 0;
}

static int
add(struct procs *procs, const struct procs_one *one)
{
	struct procs_one *all = procs->all;

	/* room for powers of two */
	if ((procs->count & (procs->count - 1)) == 0)
		all = realloc(all, (procs->count ? 2 * procs->count : 1) * sizeof *all);
	if (!all)
		return -1;
	procs->all = all;
	procs->all[procs->count++] = *one;
	return 0;
}

static int
by_number(const void *a, const void *b)
{
	pid_t one = ((const struct procs_one *)a)->pid, other = ((const struct procs_one *)b)->pid;

	return (one > other) - (one < other);
}

int
procs_list(const char *root, struct procs *procs)
{
	char *path = NULL;
	struct dirent *entry;
	int result = 0, error;
	DIR *proc;

	*procs = (struct procs){ 0 };
	if (asprintf(&path, "%s/proc", root) < 0)
		return -1;
	proc = opendir(path);
	free(path);
	if (!proc)
		return -1;
	while (result == 0 && (entry = readdir(proc))) {
		struct procs_one one = { 0 };
		uint64_t number;

		if (num_count(entry->d_name, &number) < 0)
			continue;
		one.pid = (pid_t)number;
		if (procs_look(root, &one) == 0)
			result = add(procs, &one);
	}
	error = errno;
	closedir(proc);
	if (result < 0)
		procs_free(procs);
	else if (procs->count)
		qsort(procs->all, procs->count, sizeof *procs->all, by_number);
	errno = error;
	return result;
}

void
procs_free(struct procs *procs)
{
	free(procs->all);
	*procs = (struct procs){ 0 };
}

struct procs_one *
procs_numbered(const struct procs *procs, pid_t pid)
{
	struct procs_one key = { .pid = pid };

	return procs->count ? bsearch(&key, procs->all, procs->count, sizeof key, by_number) : NULL;
}

struct procs_one *
procs_find(const struct procs *procs, const struct procs_one *one)
{
	struct procs_one *found = procs_numbered(procs, one->pid);

	return found && found->started == one->started ? found : NULL;
}

bool
procs_exists(const char *root, const struct procs_one *one)
{
	char *path = NULL;
	bool exists;

	if (asprintf(&path, "%s/proc/%d", root, (int)one->pid) < 0)
		return false;
	exists = access(path, F_OK) == 0;
	free(path);
	return exists;
}

int
procs_io(const char *root, const struct procs_one *one, struct procs_io *io)
{
	char text[TEXT];

	if (read_file(root, one->pid, "io", text) < 0)
		return -1;
	if (sscanf(text,
		"rchar: %" SCNu64 " wchar: %*u syscr: %*u syscw: %*u read_bytes: %" SCNu64
		" write_bytes: %" SCNu64,
		&io->read, &io->fetched, &io->dirtied) != 3) {
		errno = EINVAL;
		return -1;
	}
	io->faults = one->faults;
	return 0;
}
