/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mounts.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* Whether WORD is one of the comma-separated WORDS. */
static bool
has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* The name of our cgroup in the hierarchy of VERSION, from /proc/self/cgroup. */
static char *
own_name(const char *root, int version)
{
	char *path = NULL, *name = NULL, line[2 * PATH_MAX];
	FILE *stream;

	if (asprintf(&path, "%s/proc/self/cgroup", root) < 0)
		return NULL;
	stream = fopen(path, "re");
	free(path);
	while (stream && !name && fgets(line, sizeof line, stream)) {
		char *rest = line, *number = strsep(&rest, ":");
		char *controllers = strsep(&rest, ":");

		if (!rest)
			continue;
		rest[strcspn(rest, "\n")] = '\0';
		if (version == 2 ? strcmp(number, "0") == 0 : has_word(controllers, "memory"))
			name = strdup(rest);
	}
	if (stream)
		fclose(stream);
	return name;
}

char *
hierarchy_own(const char *root)
{
	char *name = own_name(root, 1);

	/* the memory controller is in one of the two */
	if (!name)
		name = own_name(root, 2);
	if (name && strcmp(name, "/") == 0) {
		free(name);
		name = NULL;
	}
	return name;
}

bool
hierarchy_has_memory(const struct mounts_entry *mount, int version)
{
	if (version == 2)
		return strcmp(mount->type, "cgroup2") == 0;
	return strcmp(mount->type, "cgroup") == 0 && has_word(mount->options, "memory");
}

/* Whether a component of NAME is "..": outside of our cgroup namespace. */
static bool
leads_out(const char *name)
{
	for (; name && *name; name = strchr(name + 1, '/'))
		if (strncmp(name, "/..", 3) == 0 && (name[3] == '/' || name[3] == '\0'))
			return true;
	return false;
}

/*
 * What to append to the mount point of a mount whose root is MOUNT_ROOT to reach
 * the cgroup NAME; NULL where it is not below. A mount made outside our cgroup
 * namespace shows its root as "/..": an ancestor of unknown distance, which stands for
 * our OWN, as its limits bind us too.
 */
static const char *
below_mount(const char *mount_root, const char *name, bool own)
{
	size_t length = strlen(mount_root);

	if (leads_out(mount_root))
		return own ? "" : NULL;
	if (leads_out(name))
		return NULL;
	if (strcmp(mount_root, "/") == 0)
		return strcmp(name, "/") == 0 ? "" : name;
	if (strncmp(name, mount_root, length) != 0)
		return NULL;
	return name[length] == '\0' || name[length] == '/' ? name + length : NULL;
}

static int
find(const char *root, int version, const char *name, bool own, char **point, char **below)
{
	struct mounts_entry *mount;
	struct mounts mounts;

	*point = *below = NULL;
	if (!name || mounts_open(root, &mounts) < 0) {
		errno = ENOENT;
		return -1;
	}
	while ((mount = mounts_next(&mounts)) != NULL) {
		const char *rest = below_mount(mount->root, name, own);

		if (!hierarchy_has_memory(mount, version) || !rest)
			continue;
		if (*below && strlen(rest) <= strlen(*below))
			continue;
		free(*point);
		free(*below);
		*point = strdup(mount->point);
		*below = strdup(rest);
	}
	mounts_close(&mounts);
	if (*point && *below)
		return 0;
	free(*point);
	free(*below);
	errno = ENOENT;
	return -1;
}

int
hierarchy_find(const char *root, int version, char **point, char **below)
{
	char *name = own_name(root, version);
	int result = find(root, version, name, true, point, below);

	free(name);
	return result;
}

int
hierarchy_locate(const char *root, int version, const char *name, char **point, char **below)
{
	return find(root, version, *name == '/' ? name : NULL, false, point, below);
}

static bool
is_cgroup(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 &&
	    ((uint32_t)status.f_type == CGROUP2_SUPER_MAGIC ||
		(uint32_t)status.f_type == CGROUP_SUPER_MAGIC);
}

/* The cgroup that /proc/PID/cgroup calls NAME, opened; -1 where it cannot be seen. */
static int
open_named(int version, const char *name)
{
	char *point, *below, *path = NULL;
	int fd = -1;

	if (hierarchy_locate("", version, name, &point, &below) < 0)
		return -1;
	if (asprintf(&path, "%s%s", point, below) >= 0) {
		fd = open(path, FOLDER);
		free(path);
	}
	free(point);
	free(below);
	return fd;
}

int
hierarchy_open(const char *cgroup)
{
	int fd = open(cgroup, FOLDER);

	if (fd >= 0 && !is_cgroup(fd)) {
		close(fd);
		fd = -1;
	}
	for (int version = 1; fd < 0 && version <= 2; version++)
		fd = open_named(version, cgroup);
	return fd;
}
