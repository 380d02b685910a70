/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listing.h"

#define BUFFER_SIZE 32768
/* Bytes of entries that are put in the order of inodes: of all levels together, as a folder that
 * is read in pieces has few neighbours in each; and of one, where the others have taken those. */
#define PLACED_SIZE  (8U << 20)
#define PLACED_LEAST (64U << 10)
#define TYPE(mode)   (((mode)&S_IFMT) >> 12) /* as d_type */

struct walk_level {
	struct folder *folder; /* NULL while closed */
	uint64_t device, inode;
	size_t path_length;
	int64_t
	    position; /* where to go on reading: after the last entry that was looked at, or read */
	char *sorted; /* entries in an order; NULL where they come as they are read */
	size_t held;  /* bytes of these */
	size_t at, filled; /* in its entries */
	bool failed;       /* no more of it can be read */
	bool by_link;      /* its ".." is not the level above */
};

/* The path becomes its first LENGTH bytes, a slash where one is missing, and NAME;
 * returns where the name starts, or SIZE_MAX with ENOMEM. */
static size_t
path_append(struct walk *walk, size_t length, const char *name)
{
	size_t added = strlen(name), needed = length + added + 2;

	if (needed > walk->path_size) {
		char *path = realloc(walk->path, 2 * needed);

		if (!path)
			return SIZE_MAX;
		walk->path = path;
		walk->path_size = 2 * needed;
	}
	if (length && walk->path[length - 1] != '/')
		walk->path[length++] = '/';
	memcpy(walk->path + length, name, added + 1);
	return length;
}

static void
report(struct walk *walk, struct folder *folder, size_t name, int error)
{
	struct walk_entry entry = {
		.path = walk->path,
		.length = name + strlen(walk->path + name),
		.name = name,
		.folder = folder,
		.depth = walk->depth,
		.error = error,
	};

	walk->found(&entry, walk->argument);
}

/* Reports what befell the folder of a level, or something in it that has no path. */
static void
report_level(struct walk *walk, const struct walk_level *level, int error)
{
	walk->path[level->path_length] = '\0';
	report(walk, NULL, 0, error);
}

static bool
is_loop(const struct walk *walk, const struct stat *status)
{
	for (size_t i = walk->depth; i-- > 0;)
		if (walk->levels[i].inode == status->st_ino &&
		    walk->levels[i].device == status->st_dev)
			return true;
	return false;
}

/* Whether to look into the folder just opened: 1, 0, -1 with ENOMEM. */
static int
may_enter(struct walk *walk, const struct folder *folder, const struct stat *status)
{
	const struct walk_level *above = walk->depth ? &walk->levels[walk->depth - 1] : NULL;

	if (above && status->st_dev != above->device &&
	    (walk->select->one_file_system || folder_is_pseudo(folder_fd(folder))))
		return 0;
	if (walk->select->follow)
		return links_add(&walk->entered, status->st_dev, status->st_ino);
	return !is_loop(walk, status); /* bind mounts can make one */
}

static int
grow_levels(struct walk *walk)
{
	size_t size = walk->levels_size ? 2 * walk->levels_size : WALK_OPEN;
	struct walk_level *levels = realloc(walk->levels, size * sizeof *levels);

	if (!levels)
		return -1;
	walk->levels = levels;
	walk->levels_size = size;
	return 0;
}

/* One more level, for the folder at the end of the path. */
static int
push(struct walk *walk, struct folder *folder, const struct stat *status, size_t path_length,
    bool by_link)
{
	struct walk_level *evicted;

	if (walk->depth == walk->levels_size && grow_levels(walk) < 0)
		return -1;
	walk->levels[walk->depth++] = (struct walk_level){
		.folder = folder,
		.device = status->st_dev,
		.inode = status->st_ino,
		.path_length = path_length,
		.by_link = by_link,
	};
	if (walk->depth > WALK_OPEN) {
		/* the new level takes over its buffer */
		evicted = &walk->levels[walk->depth - 1 - WALK_OPEN];
		if (!evicted->sorted)
			evicted->at = evicted->filled = 0;
		if (!evicted[1].by_link) {
			folder_release(evicted->folder);
			evicted->folder = NULL;
		}
	}
	return 0;
}

/* Opens the folder at NAME in the path and enters it where it may be entered. */
static void
enter(struct walk *walk, struct folder *parent, size_t name, bool by_link)
{
	bool operand = walk->depth == 0;
	struct folder *folder;
	struct stat status;
	int may = -1;

	if (!walk->go_on(walk->argument))
		return;
	folder = folder_open(parent, walk->path + name, operand || by_link ? 0 : O_NOFOLLOW);
	if (folder && fstat(folder_fd(folder), &status) == 0)
		may = may_enter(walk, folder, &status);
	if (may > 0) {
		if (push(walk, folder, &status, name + strlen(walk->path + name), by_link) == 0)
			return;
		may = -1;
	}
	/* what is gone or replaced since it was listed is not in the tree */
	if (may < 0 && (operand || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)))
		report(walk, parent, name, errno);
	folder_release(folder);
}

/*
 * What kind of file an entry is, as d_type; 0 where that cannot be told: errno says
 * why, 0 where it is gone or a link to nowhere. *BY_LINK: a symbolic link led to it.
 */
static unsigned
kind_of(const struct walk *walk, const struct walk_level *level, const struct listing_entry *entry,
    bool *by_link)
{
	unsigned kind = entry->type;
	struct stat status;
	int failed = 0;

	*by_link = false;
	if (kind == 0) {
		failed = fstatat(folder_fd(level->folder), entry->name, &status,
		    AT_SYMLINK_NOFOLLOW);
		kind = failed ? 0 : TYPE(status.st_mode);
	}
	if (kind == TYPE(S_IFLNK) && walk->select->follow) {
		failed = fstatat(folder_fd(level->folder), entry->name, &status, 0);
		kind = failed ? 0 : TYPE(status.st_mode);
		*by_link = true;
	}
	if (!failed || errno == ENOENT || errno == ELOOP)
		errno = 0;
	return kind;
}

/* Looks at one entry of the deepest level. */
static void
look(struct walk *walk, const struct listing_entry *entry)
{
	const struct walk_level *level = &walk->levels[walk->depth - 1];
	const char *name = entry->name;
	unsigned kind;
	bool by_link;
	size_t at;

	if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
		return;
	at = path_append(walk, level->path_length, name);
	if (at == SIZE_MAX) {
		report_level(walk, level, errno);
		return;
	}
	kind = kind_of(walk, level, entry, &by_link);
	if (kind == TYPE(S_IFDIR)) {
		if (!select_prunes(walk->select, walk->path, walk->path + at))
			enter(walk, level->folder, at, by_link);
	} else if (kind == TYPE(S_IFREG)) {
		if (select_admits(walk->select, walk->path, walk->path + at))
			report(walk, level->folder, at, 0);
	} else if (kind == 0 && errno)
		report(walk, level->folder, at, errno);
}

/*
 * Opens a level that was closed, by way of the one below it. Fails with ESTALE where
 * that one has been moved elsewhere meanwhile.
 */
static int
reopen(struct walk_level *level, struct folder *below)
{
	struct stat status;

	if (!below) {
		errno = ESTALE;
		return -1;
	}
	level->folder = folder_open(below, "..", O_NOFOLLOW);
	if (!level->folder)
		return -1;
	if (fstat(folder_fd(level->folder), &status) < 0 || status.st_ino != level->inode ||
	    status.st_dev != level->device) {
		folder_release(level->folder);
		level->folder = NULL;
		errno = ESTALE;
		return -1;
	}
	return 0;
}

/* Frees the entries of a level that are in an order. */
static void
forget(struct walk *walk, struct walk_level *level)
{
	free(level->sorted);
	level->sorted = NULL;
	walk->placed -= level->held;
	level->held = 0;
}

/* Leaves the deepest level. */
static void
pop(struct walk *walk)
{
	struct walk_level *below = &walk->levels[walk->depth - 1], *level = below - 1;

	forget(walk, below);
	walk->path[below->path_length] = '\0';
	walk->depth--;
	if (walk->left)
		walk->left(walk->path, below->path_length, walk->depth, walk->argument);
	if (walk->depth && !level->folder && reopen(level, below->folder) < 0) {
		report_level(walk, level, errno);
		level->at = level->filled; /* what is left of it cannot be opened */
	} else if (walk->depth && (level->sorted || level->filled == 0))
		lseek(folder_fd(level->folder), level->position, SEEK_SET);
	folder_release(below->folder);
}

/*
 * Whether the entries of the deepest level are put in an order. They stay while what is below it
 * is walked: by place, which is worth little there, only in so many levels as memory is for.
 */
static bool
is_sorted(const struct walk *walk)
{
	return walk->in_order || (walk->by_place && walk->depth <= WALK_OPEN);
}

/* Entries of the deepest level in an order: all, or so many as may be. */
static int
read_sorted(struct walk *walk, struct walk_level *level)
{
	enum listing_order order = walk->in_order ? LISTING_BY_NAME : LISTING_BY_INODE;
	size_t limit = SIZE_MAX;
	int result;

	forget(walk, level);
	if (!walk->in_order)
		limit = walk->placed + PLACED_LEAST < PLACED_SIZE ? PLACED_SIZE - walk->placed
								  : PLACED_LEAST;
	result = listing_sorted(folder_fd(level->folder), order, limit, &level->sorted,
	    &level->filled, &level->position);
	level->held = level->filled;
	walk->placed += level->held;
	return result;
}

/* Reads entries of the deepest level; false where there are no more. */
static bool
refill(struct walk *walk, struct walk_level *level, char *buffer)
{
	long n;

	level->at = level->filled = 0;
	if (!level->folder || level->failed)
		return false;
	if (is_sorted(walk))
		n = read_sorted(walk, level);
	else if ((n = listing_read(folder_fd(level->folder), buffer, BUFFER_SIZE)) > 0)
		level->filled = (size_t)n;
	level->failed = n < 0;
	if (level->failed)
		report_level(walk, level, errno);
	return level->filled > 0;
}

/* Works on the deepest level until there is none. */
static void
run(struct walk *walk)
{
	while (walk->depth) {
		struct walk_level *level = &walk->levels[walk->depth - 1];
		char *buffer = walk->buffers + (walk->depth - 1) % WALK_OPEN * BUFFER_SIZE;
		const struct listing_entry *entry;

		if (level->at == level->filled) {
			if (!walk->go_on(walk->argument))
				return;
			if (!refill(walk, level, buffer)) {
				pop(walk);
				continue;
			}
		}
		entry = (const void *)((level->sorted ? level->sorted : buffer) + level->at);
		level->at += entry->size;
		if (!level->sorted)
			level->position = entry->position;
		look(walk, entry);
	}
}

void
walk_operand(struct walk *walk, const char *operand)
{
	const char *slash = strrchr(operand, '/');
	struct stat status;

	if (!walk->buffers)
		walk->buffers = malloc((size_t)WALK_OPEN * BUFFER_SIZE);
	if (!walk->buffers || path_append(walk, 0, operand) == SIZE_MAX) {
		walk->found(&(struct walk_entry){ .path = operand,
				.length = strlen(operand),
				.error = errno },
		    walk->argument);
		return;
	}
	if (!walk->go_on(walk->argument))
		return;
	if (stat(operand, &status) < 0)
		report(walk, NULL, 0, errno);
	else if (S_ISDIR(status.st_mode))
		enter(walk, NULL, 0, false);
	else if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
		report(walk, NULL, 0, ESPIPE);
	else if (select_admits(walk->select, operand, slash ? slash + 1 : operand))
		report(walk, NULL, 0, 0);
	run(walk);
	while (walk->depth) {
		folder_release(walk->levels[--walk->depth].folder);
		forget(walk, &walk->levels[walk->depth]);
	}
}

void
walk_free(struct walk *walk)
{
	links_free(&walk->entered);
	free(walk->path);
	free(walk->levels);
	free(walk->buffers);
}
