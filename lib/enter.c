/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "hierarchy.h"

/* Whether the cgroup has the memory controller: of version 2, which has a list, or of 1. */
static bool
counts_memory(int folder)
{
	char list[512], *rest = list, *word;
	int fd = openat(folder, "cgroup.controllers", O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return faccessat(folder, "memory.usage_in_bytes", F_OK, 0) == 0;
	length = read(fd, list, sizeof list - 1);
	close(fd);
	list[length > 0 ? length : 0] = '\0';
	while ((word = strsep(&rest, " \n")))
		if (strcmp(word, "memory") == 0)
			return true;
	return false;
}

/* 0 is whoever writes it, whatever number it has in our /proc. */
static int
move_into(int folder)
{
	int fd = openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -1;
	error = write(fd, "0\n", 2) < 0 ? errno : 0;
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

int
enter_cgroup(const char *cgroup)
{
	int folder = hierarchy_open(cgroup), result = -1, error;

	if (folder < 0)
		return -1;
	if (counts_memory(folder))
		result = move_into(folder);
	else
		errno = ENODATA;
	error = errno;
	close(folder);
	errno = error;
	return result;
}

const char *
enter_error(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "no such cgroup: it is a folder below /sys/fs/cgroup, or a name as in "
		       "/proc/PID/cgroup";
	case ENODATA:
		return "this cgroup does not count memory: in version 1, take one below the "
		       "memory controller's mount; in version 2, write +memory into "
		       "cgroup.subtree_control of the one above";
	case EBUSY:
		return "this cgroup hands its controllers on to those below (cgroup.subtree_control) "
		       "and takes no processes itself: name one below it, or make one";
	case EOPNOTSUPP:
		return "this cgroup takes threads only (cgroup.type): name one that is a domain";
	case EACCES:
	case EPERM:
		return "no right to move into this cgroup: it takes root, or who may write "
		       "cgroup.procs there and, in version 2, in the nearest cgroup above both";
	case EROFS:
		return "cgroups are mounted read-only here, as in a container: start warm in that "
		       "cgroup instead";
	default:
		return strerror(error);
	}
}
