/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroupnames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hierarchy.h"
#include "mounts.h"

/* Takes the mount over where none was seen yet, or this one shows more. */
static int
take_mount(struct cgroupnames *groups, const char *root, const struct mounts_entry *mount)
{
	const char *name = strcmp(mount->root, "/") == 0 ? "" : mount->root;

	if (groups->point && strlen(groups->name) <= strlen(name))
		return 0;
	free(groups->point);
	free(groups->name);
	groups->name = strdup(name);
	if (asprintf(&groups->point, "%s%s", root, mount->point) < 0)
		groups->point = NULL;
	return groups->point && groups->name ? 0 : -1;
}

/* The mount of VERSION that shows most, if there is one. */
static int
find_mount(struct cgroupnames *groups, const char *root, int version)
{
	struct mounts_entry *mount;
	struct mounts mounts;
	int result = 0;

	if (mounts_open(root, &mounts) < 0)
		return -1;
	while (result == 0 && (mount = mounts_next(&mounts)) != NULL)
		if (hierarchy_has_memory(mount, version))
			result = take_mount(groups, root, mount);
	mounts_close(&mounts);
	return result;
}

int
cgroupnames_open(struct cgroupnames *groups, const char *root)
{
	*groups = (struct cgroupnames){ 0 };
	for (int version = 1; version <= 2 && !groups->point; version++) {
		if (find_mount(groups, root, version) < 0) {
			cgroupnames_close(groups);
			return -1;
		}
	}
	errno = ENOENT;
	return groups->point ? 0 : -1;
}

static int
make_room(struct cgroupnames *groups)
{
	size_t size = groups->size ? 2 * groups->size : 64;
	struct cgroupnames_group *larger;

	if (groups->count < groups->size)
		return 0;
	larger = realloc(groups->list, size * sizeof *larger);
	if (!larger)
		return -1;
	groups->list = larger;
	groups->size = size;
	return 0;
}

/* Adds a cgroup, whose PATH (NULL: none) is copied, behind the others. */
static int
add(struct cgroupnames *groups, uint64_t inode, const char *path)
{
	struct cgroupnames_group *group;

	if (make_room(groups) < 0)
		return -1;
	group = &groups->list[groups->count];
	group->inode = inode;
	group->path = NULL;
	if (path && asprintf(&group->path, "%s", path) < 0)
		return -1;
	groups->count++;
	return 0;
}

static int add_below(struct cgroupnames *groups, int fd, const char *path);

/* Whether ENTRY is the folder of a cgroup below the one it is in. */
static bool
is_below(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
	    strcmp(entry->d_name, "..") != 0;
}

/* Adds the cgroup at ENTRY of FOLDER, called PATH, and all below it. */
static int
add_tree(struct cgroupnames *groups, int folder, const struct dirent *entry, const char *path)
{
	struct stat status;
	int fd;

	if (add(groups, entry->d_ino, path) < 0)
		return -1;
	fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) /* gone meanwhile, or */
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &status) == 0 && status.st_ino == entry->d_ino)
		return add_below(groups, fd, path);
	close(fd); /* another mount is in its place */
	return 0;
}

/* Adds the cgroups below the one whose folder is FD. Closes FD. */
static int
add_below(struct cgroupnames *groups, int fd, const char *path)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!folder) {
		close(fd);
		return -1;
	}
	while (result == 0 && (entry = readdir(folder)) != NULL) {
		char *below;

		if (!is_below(entry))
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			result = -1;
			break;
		}
		result = add_tree(groups, fd, entry, below);
		free(below);
	}
	closedir(folder);
	return result;
}

/* Adds all that the mount shows. */
static int
add_all(struct cgroupnames *groups)
{
	int fd = open(groups->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *top = *groups->name ? groups->name : "/";
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && add(groups, status.st_ino, top) == 0)
		return add_below(groups, fd, groups->name);
	close(fd);
	return -1;
}

static int
by_inode(const void *a, const void *b)
{
	const struct cgroupnames_group *left = a, *right = b;

	return left->inode < right->inode ? -1 : left->inode > right->inode;
}

static struct cgroupnames_group *
find(const struct cgroupnames *groups, uint64_t inode)
{
	struct cgroupnames_group key = { inode, NULL };

	if (groups->count == 0)
		return NULL;
	return bsearch(&key, groups->list, groups->count, sizeof key, by_inode);
}

/* Of what was seen, only that what was looked for is not there remains true. */
static void
forget_paths(struct cgroupnames *groups)
{
	size_t kept = 0;

	for (size_t i = 0; i < groups->count; i++) {
		if (groups->list[i].path)
			free(groups->list[i].path);
		else
			groups->list[kept++] = groups->list[i];
	}
	groups->count = kept;
}

static void
sort(struct cgroupnames *groups)
{
	qsort(groups->list, groups->count, sizeof *groups->list, by_inode);
}

/* Walks the hierarchy as it is now, in which INODE was not seen before; NULL with errno. */
static struct cgroupnames_group *
look_for(struct cgroupnames *groups, uint64_t inode)
{
	struct cgroupnames_group *group;

	forget_paths(groups);
	if (add_all(groups) < 0)
		return NULL;
	sort(groups);
	group = find(groups, inode);
	if (group || add(groups, inode, NULL) < 0)
		return group;
	sort(groups);
	return find(groups, inode);
}

int
cgroupnames_path(struct cgroupnames *groups, uint64_t inode, const char **path)
{
	struct cgroupnames_group *group = find(groups, inode);

	if (!group)
		group = look_for(groups, inode);
	if (!group)
		return -1;
	*path = group->path;
	return 0;
}

void
cgroupnames_close(struct cgroupnames *groups)
{
	int error = errno;

	for (size_t i = 0; i < groups->count; i++)
		free(groups->list[i].path);
	free(groups->list);
	free(groups->point);
	free(groups->name);
	*groups = (struct cgroupnames){ 0 };
	errno = error;
}
