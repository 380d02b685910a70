/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "owners.h"

#include <stdio.h>
#include <stdlib.h>

#include "residency.h"

#define SPARE 32

enum field { F_PATH, F_OWNER, F_PAGES, F_BYTES, F_RATIO, FIELDS };

static const struct out_field fields[FIELDS] = {
	[F_PATH] = { "path", OUT_STRING, "path", false, "operand, or file (-v)" },
	[F_OWNER] = { "owner", OUT_STRING, "owner", false, "the memory cgroup that pays" },
	[F_PAGES] = { "resident_pages", OUT_COUNT, "resident_owner_pages", false,
	    "pages in memory that it pays for" },
	[F_BYTES] = { "resident_bytes", OUT_BYTES, "resident_owner_bytes", false,
	    "memory that these pages take" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "resident_owner_ratio", false,
	    "resident_pages / pages of the path in memory" },
};

static const struct out_column columns[] = {
	{ F_BYTES, "RESIDENT", 8, false },
	{ F_RATIO, "PERCENT", 7, false },
	{ F_OWNER, "OWNER", -40, false },
	{ F_PATH, "PATH", 0, false },
	{ 0 },
};

const struct out_table owners_table = {
	.fields = fields,
	.count = FIELDS,
	.columns = columns,
	.mode = "--owner",
};

static int
make_room(struct owners *owners)
{
	size_t size = owners->size ? 2 * owners->size : 4;
	struct owners_share *larger;

	if (owners->count < owners->size)
		return 0;
	larger = realloc(owners->list, size * sizeof *larger);
	if (!larger)
		return -1;
	owners->list = larger;
	owners->size = size;
	return 0;
}

int
owners_add(struct owners *owners, uint64_t inode, uint64_t pages)
{
	/* pages come in runs of one owner: mostly it is the last one */
	for (size_t i = owners->count; i-- > 0;) {
		if (owners->list[i].inode == inode) {
			owners->list[i].pages += pages;
			return 0;
		}
	}
	if (make_room(owners) < 0)
		return -1;
	owners->list[owners->count++] = (struct owners_share){ inode, pages };
	return 0;
}

int
owners_merge(struct owners *owners, const struct owners *part)
{
	for (size_t i = 0; i < part->count; i++)
		if (owners_add(owners, part->list[i].inode, part->list[i].pages) < 0)
			return -1;
	return 0;
}

static int
by_pages(const void *a, const void *b)
{
	const struct owners_share *left = a, *right = b;

	if (left->pages != right->pages)
		return left->pages > right->pages ? -1 : 1;
	return left->inode < right->inode ? -1 : left->inode > right->inode;
}

/* What the cgroup INODE is called, into NAME, a path or put together in SPARE. */
static int
name_owner(uint64_t inode, struct cgroupnames *groups, const char **name, char spare[static SPARE])
{
	*name = NULL;
	if (inode == OWNERS_NONE)
		return 0;
	if (cgroupnames_path(groups, inode, name) < 0)
		return -1;
	if (!*name) {
		snprintf(spare, SPARE, "deleted:%llu", (unsigned long long)inode);
		*name = spare;
	}
	return 0;
}

static int
put_share(const struct owners_share *share, uint64_t all, const char *path,
    struct cgroupnames *groups, struct out *out)
{
	struct out_value values[FIELDS];
	char spare[SPARE];
	const char *name;

	if (name_owner(share->inode, groups, &name, spare) < 0)
		return -1;
	values[F_PATH] = out_string(path);
	values[F_OWNER] = out_string(name);
	values[F_PAGES] = out_number(share->pages);
	values[F_BYTES] = out_number(share->pages * residency_page_size());
	values[F_RATIO] = out_percent(share->pages, all);
	return out_row(out, values);
}

int
owners_report(struct owners *owners, const char *path, struct cgroupnames *groups, struct out *out)
{
	uint64_t all = 0;

	if (owners->count)
		qsort(owners->list, owners->count, sizeof *owners->list, by_pages);
	for (size_t i = 0; i < owners->count; i++)
		all += owners->list[i].pages;
	for (size_t i = 0; i < owners->count; i++)
		if (put_share(&owners->list[i], all, path, groups, out) < 0)
			return -1;
	return 0;
}

void
owners_free(struct owners *owners)
{
	free(owners->list);
	*owners = (struct owners){ 0 };
}
