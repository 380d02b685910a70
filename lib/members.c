/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hierarchy.h"
#include "num.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct members {
	void (*visit)(pid_t pid, void *argument);
	void *argument;
};

/* Visits the numbers in the file NAME of a cgroup. */
static int
visit_numbers(int folder, const char *name, const struct members *members)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC), error;
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];
	uint64_t number;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (fgets(line, sizeof line, stream)) {
		line[strcspn(line, "\n")] = '\0';
		/* 0: a process that our /proc does not show */
		if (num_count(line, &number) == 0 && number)
			members->visit((pid_t)number, members->argument);
	}
	error = ferror(stream) ? errno : 0;
	fclose(stream);
	errno = error;
	return error ? -1 : 0;
}

/* Visits the processes of one cgroup, which may be gone meanwhile. */
static int
visit_own(int folder, const struct members *members)
{
	int failed = visit_numbers(folder, "cgroup.procs", members);

	/* one of version 2 that has threads of processes only */
	if (failed && errno == EOPNOTSUPP)
		failed = visit_numbers(folder, "cgroup.threads", members);
	return failed && errno != ENOENT && errno != ENODEV ? -1 : 0;
}

/* Visits those of a cgroup and of all below; closes FD. */
static int
visit_tree(int fd, const struct members *members)
{
	int result = visit_own(fd, members), error;
	DIR *folder = fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	while (result == 0 && (entry = readdir(folder))) {
		int below;

		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		below = openat(fd, entry->d_name, FOLDER | O_NOFOLLOW);
		if (below >= 0)
			result = visit_tree(below, members);
		else if (errno != ENOENT)
			result = -1;
	}
	error = errno;
	closedir(folder);
	errno = error;
	return result;
}

int
members_visit(const char *cgroup, void (*visit)(pid_t pid, void *argument), void *argument)
{
	int fd = hierarchy_open(cgroup);

	return fd < 0 ? -1
		      : visit_tree(fd, &(struct members){ .visit = visit, .argument = argument });
}
