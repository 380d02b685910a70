/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "descend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parent of PID by /proc/PID/stat, 0 where it is gone. */
static pid_t
parent_of(pid_t pid)
{
	char path[32], text[512];
	const char *behind;
	int fd, parent = 0;
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof text - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	/* the command's name, in parentheses, may itself hold some */
	behind = strrchr(text, ')');
	if (!behind || sscanf(behind, ") %*c %d", &parent) != 1)
		return 0;
	return parent;
}

struct family {
	pid_t *members;
	size_t count;
	int (*visit)(pid_t pid, void *argument);
	void *argument;
};

static int
has_member(const struct family *family, pid_t pid)
{
	for (size_t i = 0; i < family->count; i++)
		if (family->members[i] == pid)
			return 1;
	return 0;
}

static int
add_member(struct family *family, pid_t pid)
{
	pid_t *members = realloc(family->members, (family->count + 1) * sizeof *members);

	if (!members)
		return -1;
	family->members = members;
	family->members[family->count++] = pid;
	return family->visit(pid, family->argument);
}

/* One pass over /proc; returns how many were found, -1 with errno. */
static int
find_children(struct family *family)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (!proc)
		return -1;
	while (found >= 0 && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || has_member(family, pid) || !has_member(family, parent_of(pid)))
			continue;
		found = add_member(family, pid) < 0 ? -1 : found + 1;
	}
	closedir(proc);
	return found;
}

/* Whether /proc hides others' processes from us (hidepid): the first one is always there. */
static bool
are_hidden(void)
{
	return access("/proc/1/stat", F_OK) < 0;
}

int
descend(pid_t pid, int (*visit)(pid_t pid, void *argument), void *argument)
{
	struct family family = { .visit = visit, .argument = argument };
	int found = -1;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return -1;
	if (access("/proc/self", F_OK) < 0)
		return -1; /* without /proc its children would be missed */
	if (parent_of(pid) != getpid() && are_hidden()) {
		errno = EACCES; /* some of them would be */
		return -1;
	}
	if (add_member(&family, pid) == 0) {
		do
			found = find_children(&family);
		while (found > 0);
	}
	free(family.members);
	return found;
}
