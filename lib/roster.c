/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
roster_begin(struct roster *roster)
{
	*roster = (struct roster){ .last = ROSTER_NONE };
	hash_begin(&roster->key);
}

void
roster_free(struct roster *roster)
{
	for (size_t i = 0; i < roster->folder_count; i++)
		free(roster->folders[i].path);
	for (size_t i = 0; i < roster->file_count; i++)
		free(roster->files[i].name);
	free(roster->folders);
	free(roster->files);
	free(roster->free_files);
	index_free(&roster->by_path);
	index_free(&roster->by_watch);
	index_free(&roster->by_name);
	index_free(&roster->by_inode);
	*roster = (struct roster){ .last = ROSTER_NONE };
}

/* Makes room in LIST, which has *SIZE items of ITEM bytes, for one more than COUNT. */
static void *
grow(void *list, size_t count, size_t *size, size_t item)
{
	size_t larger = *size ? 2 * *size : 64;

	if (count < *size)
		return list;
	list = larger < ROSTER_NONE ? realloc(list, larger * item) : NULL;
	if (list)
		*size = larger;
	return list;
}

static uint64_t
hash_path(const struct roster *roster, const char *path, size_t length)
{
	return hash_of(&roster->key, path, length);
}

static uint64_t
hash_name(const struct roster *roster, uint32_t folder, const char *name)
{
	return hash_of(&roster->key, name, strlen(name)) + folder * 0x9e3779b97f4a7c15ULL;
}

static uint64_t
hash_inode(const struct roster *roster, uint64_t device, uint64_t inode)
{
	uint64_t both[] = { device, inode };

	return hash_of(&roster->key, both, sizeof both);
}

/* A watch is a small number of the kernel's. */
static uint64_t
hash_watch(int watch)
{
	return (uint64_t)watch * 0x9e3779b97f4a7c15ULL >> 32;
}

static bool
is_called(const struct roster *roster, uint32_t folder, const char *path, size_t length)
{
	const char *own = roster->folders[folder].path;

	return own && strncmp(own, path, length) == 0 && own[length] == '\0';
}

static uint32_t
add_folder(struct roster *roster, const char *path, size_t length)
{
	struct roster_folder *folders = grow(roster->folders, roster->folder_count,
	    &roster->folder_size, sizeof *folders);
	uint32_t number = (uint32_t)roster->folder_count;
	struct roster_folder *folder;

	if (!folders)
		return ROSTER_NONE;
	roster->folders = folders;
	folder = &folders[number];
	*folder = (struct roster_folder){ .owner = ROSTER_NONE, .watch = -1 };
	if (asprintf(&folder->path, "%.*s", (int)length, path) < 0)
		return ROSTER_NONE;
	if (index_add(&roster->by_path, hash_path(roster, path, length), number) < 0) {
		free(folder->path);
		return ROSTER_NONE;
	}
	roster->folder_count++;
	return number;
}

uint32_t
roster_folder(struct roster *roster, const char *path, size_t length, bool add)
{
	uint32_t number = roster->last;
	size_t at = 0;

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length == 0) {
		path = ".";
		length = 1;
	}
	if (number != ROSTER_NONE && is_called(roster, number, path, length))
		return number;
	do
		number = index_next(&roster->by_path, hash_path(roster, path, length), &at);
	while (number != ROSTER_NONE && !is_called(roster, number, path, length));
	if (number == ROSTER_NONE && add)
		number = add_folder(roster, path, length);
	if (number != ROSTER_NONE)
		roster->last = number;
	return number;
}

void
roster_remove_folder(struct roster *roster, uint32_t folder)
{
	struct roster_folder *gone = &roster->folders[folder];

	roster_watch(roster, folder, -1);
	index_remove(&roster->by_path, hash_path(roster, gone->path, strlen(gone->path)), folder);
	free(gone->path);
	gone->path = NULL;
}

int
roster_watch(struct roster *roster, uint32_t folder, int watch)
{
	struct roster_folder *watched = &roster->folders[folder];

	if (watched->watch >= 0)
		index_remove(&roster->by_watch, hash_watch(watched->watch), folder);
	watched->watch = -1;
	if (watch >= 0 && index_add(&roster->by_watch, hash_watch(watch), folder) < 0)
		return -1;
	watched->watch = watch;
	return 0;
}

uint32_t
roster_watched(const struct roster *roster, int watch, size_t *at)
{
	uint32_t number;

	do
		number = index_next(&roster->by_watch, hash_watch(watch), at);
	while (number != ROSTER_NONE && roster->folders[number].watch != watch);
	return number;
}

const char *
roster_split(const char *path, size_t *length)
{
	const char *slash = strrchr(path, '/');

	*length = slash ? (size_t)(slash - path) + 1 : 0;
	return path + *length;
}

uint32_t
roster_find(const struct roster *roster, uint32_t folder, const char *name)
{
	uint64_t hash = hash_name(roster, folder, name);
	uint32_t number;
	size_t at = 0;

	while ((number = index_next(&roster->by_name, hash, &at)) != ROSTER_NONE) {
		const struct roster_file *file = &roster->files[number];

		if (file->folder == folder && strcmp(file->name, name) == 0)
			break;
	}
	return number;
}

uint32_t
roster_inode(const struct roster *roster, uint64_t device, uint64_t inode)
{
	uint64_t hash = hash_inode(roster, device, inode);
	uint32_t number;
	size_t at = 0;

	while ((number = index_next(&roster->by_inode, hash, &at)) != ROSTER_NONE) {
		const struct roster_file *file = &roster->files[number];

		if (file->device == device && file->inode == inode)
			break;
	}
	return number;
}

static uint32_t
new_number(struct roster *roster)
{
	struct roster_file *files;

	if (roster->free_count)
		return roster->free_files[--roster->free_count];
	files = grow(roster->files, roster->file_count, &roster->file_size, sizeof *files);
	if (!files)
		return ROSTER_NONE;
	roster->files = files;
	return (uint32_t)roster->file_count++;
}

/* What cannot be kept for later is lost until the end. */
static void
free_number(struct roster *roster, uint32_t number)
{
	uint32_t *list = grow(roster->free_files, roster->free_count, &roster->free_size,
	    sizeof *list);

	roster->files[number].name = NULL;
	if (!list)
		return;
	roster->free_files = list;
	list[roster->free_count++] = number;
}

uint32_t
roster_add(struct roster *roster, uint32_t folder, const char *name, uint64_t device,
    uint64_t inode)
{
	uint32_t number = new_number(roster);
	struct roster_file *file;

	if (number == ROSTER_NONE)
		return ROSTER_NONE;
	file = &roster->files[number];
	*file = (struct roster_file){ .folder = folder,
		.device = device,
		.inode = inode,
		.place = SHARE_NOWHERE };
	if (asprintf(&file->name, "%s", name) < 0) {
		free_number(roster, number);
		return ROSTER_NONE;
	}
	if (index_add(&roster->by_name, hash_name(roster, folder, name), number) == 0) {
		if (index_add(&roster->by_inode, hash_inode(roster, device, inode), number) == 0)
			return number;
		index_remove(&roster->by_name, hash_name(roster, folder, name), number);
	}
	free(file->name);
	free_number(roster, number);
	return ROSTER_NONE;
}

int
roster_replace(struct roster *roster, uint32_t number, uint64_t device, uint64_t inode)
{
	struct roster_file *file = &roster->files[number];

	index_remove(&roster->by_inode, hash_inode(roster, file->device, file->inode), number);
	file->device = device;
	file->inode = inode;
	return index_add(&roster->by_inode, hash_inode(roster, device, inode), number);
}

void
roster_remove(struct roster *roster, uint32_t number)
{
	struct roster_file *file = &roster->files[number];

	index_remove(&roster->by_name, hash_name(roster, file->folder, file->name), number);
	index_remove(&roster->by_inode, hash_inode(roster, file->device, file->inode), number);
	free(file->name);
	free_number(roster, number);
}

char *
roster_join(const struct roster *roster, uint32_t folder, const char *name)
{
	const char *path = roster->folders[folder].path;
	size_t length = strlen(path);
	char *joined;

	if (strcmp(path, ".") == 0)
		return strdup(name);
	return asprintf(&joined, "%s%s%s", path, path[length - 1] == '/' ? "" : "/", name) < 0
	    ? NULL
	    : joined;
}

char *
roster_path(const struct roster *roster, uint32_t number)
{
	const struct roster_file *file = &roster->files[number];

	return roster_join(roster, file->folder, file->name);
}
