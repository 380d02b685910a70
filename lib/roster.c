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
	free(roster->free_folders.list);
	free(roster->free_files.list);
	free(roster->order.list);
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

/* A number that is free again; ROSTER_NONE where there is none. */
static uint32_t
take_number(struct roster_numbers *numbers)
{
	return numbers->count ? numbers->list[--numbers->count] : ROSTER_NONE;
}

/* What cannot be kept for later is lost until the end. */
static void
keep_number(struct roster_numbers *numbers, uint32_t number)
{
	uint32_t *list = grow(numbers->list, numbers->count, &numbers->size, sizeof *list);

	if (!list)
		return;
	numbers->list = list;
	list[numbers->count++] = number;
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
new_folder(struct roster *roster)
{
	uint32_t number = take_number(&roster->free_folders);
	struct roster_folder *folders;

	if (number != ROSTER_NONE)
		return number;
	folders = grow(roster->folders, roster->folder_count, &roster->folder_size,
	    sizeof *folders);
	if (!folders)
		return ROSTER_NONE;
	roster->folders = folders;
	folders[roster->folder_count].path = NULL;
	return (uint32_t)roster->folder_count++;
}

static uint32_t
add_folder(struct roster *roster, const char *path, size_t length)
{
	uint32_t number = new_folder(roster);
	struct roster_folder *folder;

	if (number == ROSTER_NONE)
		return ROSTER_NONE;
	folder = &roster->folders[number];
	*folder = (struct roster_folder){ .owner = ROSTER_NONE, .watch = -1 };
	if (asprintf(&folder->path, "%.*s", (int)length, path) < 0)
		folder->path = NULL;
	if (folder->path &&
	    index_add(&roster->by_path, hash_path(roster, path, length), number) == 0)
		return number;
	free(folder->path);
	folder->path = NULL;
	keep_number(&roster->free_folders, number);
	return ROSTER_NONE;
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
	keep_number(&roster->free_folders, folder);
	if (roster->last == folder)
		roster->last = ROSTER_NONE;
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
roster_names(const struct roster *roster, uint64_t device, uint64_t inode, size_t *at)
{
	uint64_t hash = hash_inode(roster, device, inode);
	uint32_t number;

	while ((number = index_next(&roster->by_inode, hash, at)) != ROSTER_NONE) {
		const struct roster_file *file = &roster->files[number];

		if (file->device == device && file->inode == inode)
			break;
	}
	return number;
}

uint32_t
roster_inode(const struct roster *roster, uint64_t device, uint64_t inode)
{
	uint32_t number;
	size_t at = 0;

	do
		number = roster_names(roster, device, inode, &at);
	while (number != ROSTER_NONE && roster->files[number].alias);
	return number;
}

/* What is not there has no inode, and there may be many of it. */
static int
add_inode(struct roster *roster, uint32_t number)
{
	const struct roster_file *file = &roster->files[number];

	if (file->inode == 0)
		return 0;
	return index_add(&roster->by_inode, hash_inode(roster, file->device, file->inode), number);
}

static uint32_t
new_number(struct roster *roster)
{
	uint32_t number = take_number(&roster->free_files);
	struct roster_file *files;

	if (number != ROSTER_NONE)
		return number;
	files = grow(roster->files, roster->file_count, &roster->file_size, sizeof *files);
	if (!files)
		return ROSTER_NONE;
	roster->files = files;
	return (uint32_t)roster->file_count++;
}

static void
free_number(struct roster *roster, uint32_t number)
{
	roster->files[number].name = NULL;
	keep_number(&roster->free_files, number);
}

uint32_t
roster_add(struct roster *roster, uint32_t folder, const char *name, uint32_t owner,
    uint64_t device, uint64_t inode)
{
	uint32_t number = new_number(roster);
	struct roster_file *file;

	if (number == ROSTER_NONE)
		return ROSTER_NONE;
	file = &roster->files[number];
	*file = (struct roster_file){ .folder = folder,
		.owner = owner,
		.sequence = roster->sequence++,
		.device = device,
		.inode = inode,
		.place = SHARE_NOWHERE };
	if (asprintf(&file->name, "%s", name) < 0) {
		free_number(roster, number);
		return ROSTER_NONE;
	}
	if (index_add(&roster->by_name, hash_name(roster, folder, name), number) == 0) {
		if (add_inode(roster, number) == 0) {
			roster->folders[folder].files++;
			roster->ordered = false;
			return number;
		}
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
	return add_inode(roster, number);
}

void
roster_remove(struct roster *roster, uint32_t number)
{
	struct roster_file *file = &roster->files[number];

	index_remove(&roster->by_name, hash_name(roster, file->folder, file->name), number);
	index_remove(&roster->by_inode, hash_inode(roster, file->device, file->inode), number);
	roster->folders[file->folder].files--;
	roster->ordered = false;
	free(file->name);
	free_number(roster, number);
}

static int
compare(const void *a, const void *b, void *argument)
{
	const struct roster *roster = argument;
	const struct roster_file *one = &roster->files[*(const uint32_t *)a];
	const struct roster_file *other = &roster->files[*(const uint32_t *)b];

	if (one->owner != other->owner)
		return one->owner < other->owner ? -1 : 1;
	return one->sequence < other->sequence ? -1 : one->sequence > other->sequence;
}

const uint32_t *
roster_order(struct roster *roster, size_t *count)
{
	static const uint32_t none = ROSTER_NONE;
	struct roster_numbers *order = &roster->order;

	if (!roster->ordered) {
		order->count = 0;
		for (uint32_t i = 0; i < roster->file_count; i++) {
			uint32_t *list = grow(order->list, order->count, &order->size,
			    sizeof *list);

			if (!list)
				return NULL;
			order->list = list;
			if (roster->files[i].name)
				list[order->count++] = i;
		}
		if (order->count)
			qsort_r(order->list, order->count, sizeof *order->list, compare, roster);
		roster->ordered = true;
	}
	*count = order->count;
	return order->list ? order->list : &none;
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
