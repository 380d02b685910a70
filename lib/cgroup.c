/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hierarchy.h"
#include "num.h"

/* Version 1 writes "no limit" as LONG_MAX in whole pages, before 3.19 as LLONG_MAX. */
#define V1_NO_LIMIT (1ULL << 62)

/* Deeper trees than this are cut off at the top. */
#define MAX_LEVELS 64

/* The first line of the file NAME in the folder ROOT/PATH; -1 with ENOENT: no such file. */
static int
read_line(const char *root, const char *path, const char *name, char *line, int size)
{
	char *full = NULL;
	FILE *stream;
	int failed;

	if (asprintf(&full, "%s%s/%s", root, path, name) < 0)
		return -1;
	stream = fopen(full, "re");
	free(full);
	if (!stream)
		return -1;
	failed = fgets(line, size, stream) == NULL;
	fclose(stream);
	if (!failed)
		return 0;
	errno = EIO; /* or it is empty */
	return -1;
}

/* TEXT, a number and a newline; anything else is unknown. */
static uint64_t
bytes_of(char *text)
{
	uint64_t bytes;

	text[strcspn(text, "\n")] = '\0';
	return num_count(text, &bytes) < 0 ? CGROUP_UNKNOWN : bytes;
}

static uint64_t
read_bytes(const char *root, const char *path, const char *name)
{
	char line[64];

	return read_line(root, path, name, line, sizeof line) < 0 ? CGROUP_UNKNOWN : bytes_of(line);
}

/* "max", a missing file (the root has no limits) and version 1's huge number are none. */
static struct cgroup_limit
read_limit(const char *root, const char *path, const char *name)
{
	char line[64];
	uint64_t bytes;

	if (read_line(root, path, name, line, sizeof line) < 0)
		return (struct cgroup_limit){ .unknown = errno != ENOENT };
	if (strcmp(line, "max\n") == 0)
		return (struct cgroup_limit){ .set = false };
	bytes = bytes_of(line);
	if (bytes == CGROUP_UNKNOWN)
		return (struct cgroup_limit){ .unknown = true };
	if (bytes >= V1_NO_LIMIT)
		return (struct cgroup_limit){ .set = false };
	return (struct cgroup_limit){ .set = true, .bytes = bytes };
}

/* The figure called KEY in a memory.stat. */
static uint64_t
read_stat(const char *root, const char *path, const char *key)
{
	uint64_t bytes = CGROUP_UNKNOWN;
	size_t length = strlen(key);
	char *full = NULL, line[128];
	FILE *stream;

	if (asprintf(&full, "%s%s/memory.stat", root, path) < 0)
		return CGROUP_UNKNOWN;
	stream = fopen(full, "re");
	free(full);
	while (stream && bytes == CGROUP_UNKNOWN && fgets(line, sizeof line, stream))
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			bytes = bytes_of(line + length + 1);
	if (stream)
		fclose(stream);
	return bytes;
}

static void
read_level(const char *root, int version, struct cgroup_level *level)
{
	const char *path = level->path;

	if (version == 2) {
		level->max = read_limit(root, path, "memory.max");
		level->high = read_limit(root, path, "memory.high");
		level->usage = read_bytes(root, path, "memory.current");
		level->inactive_file = read_stat(root, path, "inactive_file");
		level->active_file = read_stat(root, path, "active_file");
		level->unevictable = read_stat(root, path, "unevictable");
	} else {
		level->max = read_limit(root, path, "memory.limit_in_bytes");
		level->usage = read_bytes(root, path, "memory.usage_in_bytes");
		level->inactive_file = read_stat(root, path, "total_inactive_file");
		level->active_file = read_stat(root, path, "total_active_file");
		level->unevictable = read_stat(root, path, "total_unevictable");
	}
}

/* Version 1 before 5.11: a parent that is not hierarchical is not charged. */
static bool
is_charged(const char *root, int version, const char *path)
{
	return version == 2 || read_bytes(root, path, "memory.use_hierarchy") != 0;
}

/*
 * Version 1 tells the lowest limit of all ancestors, also of those that the mount
 * hides (in a container): it then stands for our own limit.
 */
static void
take_hidden_limit(const char *root, struct cgroup *cgroup)
{
	uint64_t lowest = 0;
	const struct cgroup_level *tightest = cgroup_tightest(cgroup, &lowest);
	struct cgroup_level *own = &cgroup->levels[0];
	uint64_t bytes = read_stat(root, own->path, "hierarchical_memory_limit");

	if (bytes < V1_NO_LIMIT && (!tightest || bytes < lowest))
		own->max = (struct cgroup_limit){ .set = true, .bytes = bytes };
}

/* The levels from the folder MOUNT/BELOW up to MOUNT. Takes BELOW apart. */
static int
read_levels(const char *root, const char *mount, char *below, struct cgroup *cgroup)
{
	cgroup->levels = calloc(MAX_LEVELS, sizeof *cgroup->levels);
	if (!cgroup->levels)
		return -1;
	while (cgroup->count < MAX_LEVELS) {
		struct cgroup_level *level = &cgroup->levels[cgroup->count];
		char *slash = strrchr(below, '/');

		if (asprintf(&level->path, "%s%s", mount, below) < 0) {
			level->path = NULL;
			return -1;
		}
		if (cgroup->count > 0 && !is_charged(root, cgroup->version, level->path)) {
			free(level->path);
			level->path = NULL;
			break;
		}
		read_level(root, cgroup->version, level);
		cgroup->count++;
		if (!slash)
			break;
		*slash = '\0';
	}
	if (cgroup->version == 1)
		take_hidden_limit(root, cgroup);
	return 0;
}

static int
find_levels(const char *root, struct cgroup *cgroup)
{
	char *point, *below;
	int result, error;

	if (hierarchy_find(root, cgroup->version, &point, &below) < 0)
		return -1;
	result = read_levels(root, point, below, cgroup);
	error = errno;
	free(point);
	free(below);
	errno = error;
	return result;
}

int
cgroup_read(const char *root, struct cgroup *cgroup)
{
	int error;

	/* the memory controller is in one of the two: version 1 where it is mounted */
	for (int version = 1; version <= 2; version++) {
		*cgroup = (struct cgroup){ .version = version };
		if (find_levels(root, cgroup) == 0)
			return 0;
		error = errno;
		cgroup_free(cgroup);
	}
	errno = error;
	return -1;
}

void
cgroup_free(struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->count; i++)
		free(cgroup->levels[i].path);
	free(cgroup->levels);
	*cgroup = (struct cgroup){ 0 };
}

bool
cgroup_limits_known(const struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->count; i++)
		if (cgroup->levels[i].max.unknown || cgroup->levels[i].high.unknown)
			return false;
	return true;
}

bool
cgroup_room_known(const struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->count; i++) {
		const struct cgroup_level *level = &cgroup->levels[i];

		if ((level->max.set || level->high.set) && level->usage == CGROUP_UNKNOWN)
			return false;
	}
	return cgroup_limits_known(cgroup);
}

uint64_t
cgroup_limit_of(const struct cgroup_level *level)
{
	if (!level->high.set || (level->max.set && level->max.bytes < level->high.bytes))
		return level->max.bytes;
	return level->high.bytes;
}

/* Bytes that LEVEL takes until LIMIT, by a known usage: its idle cache goes before others'. */
static uint64_t
room_below(const struct cgroup_level *level, uint64_t limit)
{
	uint64_t usage = level->usage;
	uint64_t idle = level->inactive_file == CGROUP_UNKNOWN ? 0 : level->inactive_file;

	usage -= idle < usage ? idle : usage;
	return limit > usage ? limit - usage : 0;
}

uint64_t
cgroup_room_of(const struct cgroup_level *level)
{
	return room_below(level, cgroup_limit_of(level));
}

static uint64_t
limit_itself(const struct cgroup_level *level, uint64_t limit)
{
	(void)level;
	return limit;
}

/* The level, and into *LEAST the figure, for which FIGURE of a level's limit is least. */
static const struct cgroup_level *
find_least(const struct cgroup *cgroup,
    uint64_t (*figure)(const struct cgroup_level *level, uint64_t limit), uint64_t *least)
{
	const struct cgroup_level *found = NULL;

	for (size_t i = 0; i < cgroup->count; i++) {
		const struct cgroup_level *level = &cgroup->levels[i];
		uint64_t bytes;

		if (!level->max.set && !level->high.set)
			continue;
		bytes = figure(level, cgroup_limit_of(level));
		if (found && bytes >= *least)
			continue;
		found = level;
		*least = bytes;
	}
	return found;
}

const struct cgroup_level *
cgroup_tightest(const struct cgroup *cgroup, uint64_t *limit)
{
	return find_least(cgroup, limit_itself, limit);
}

const struct cgroup_level *
cgroup_least_room(const struct cgroup *cgroup, uint64_t *room)
{
	return find_least(cgroup, room_below, room);
}
