/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "claims.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

#define FILES 3000
#define PARTS 3

struct made {
	struct each_file file;
	char path[400];
	struct num_range parts[PARTS];
	uint64_t resident;
};

static uint64_t
any(void)
{
	uint64_t number = 0;

	for (int i = 0; i < 3; i++)
		number = number << 22 ^ (uint64_t)rand();
	return number >> rand() % 64;
}

/* File NUMBER, which is the same whenever it is made. */
static void
make(struct made *made, int number)
{
	struct each_file *file = &made->file;

	srand((unsigned)number + 1);
	*made = (struct made){ .file = { .path = made->path } };
	sprintf(made->path, "%s%0*d", rand() % 3 ? "some/where/" : "/", 1 + rand() % 300, number);
	if (rand() % 9 == 0)
		made->path[0] = '\0';
	file->operand = (size_t)(rand() % 3);
	file->status.st_dev = any();
	file->status.st_ino = any();
	file->status.st_mode = rand() % 5 ? S_IFREG : S_IFBLK;
	if (rand() % 2) {
		file->offset = any() / 2;
		file->length = any() / 2;
	} else {
		file->parts = made->parts;
		file->part_count = PARTS;
		for (int i = 0; i < PARTS; i++) {
			made->parts[i] = (struct num_range){ any() / 2, any() / 4 };
			file->length += made->parts[i].length;
		}
	}
	made->resident = file->length - (rand() % 2 ? 0 : any() % (file->length + 1));
}

static bool
is_same(const struct claim *claim, const struct made *made)
{
	const struct each_file *file = &made->file;
	struct num_range whole = { file->offset, file->length };
	const struct num_range *parts = file->parts ? file->parts : &whole;
	size_t count = file->parts ? PARTS : 1;

	if (claim->part_count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (claim->parts[i].offset != parts[i].offset ||
		    claim->parts[i].length != parts[i].length)
			return false;
	return strcmp(claim->path, made->path) == 0 && claim->operand == file->operand &&
	    claim->device == file->status.st_dev && claim->inode == file->status.st_ino &&
	    claim->disk == S_ISBLK(file->status.st_mode) && claim->resident == made->resident;
}

/* How many bytes a file takes in a folder as they are. */
static size_t
usual_size(void)
{
	struct claims claims = { 0 };
	struct each_file file = { .length = 5000 };
	char path[40];
	size_t size;

	file.path = path;
	for (int i = 0; i < FILES; i++) {
		sprintf(path, "srv/www/file%d.html", i);
		file.status.st_ino = (ino_t)(1000000 + i);
		if (claims_add(&claims, &file, 5000) < 0)
			return 0;
	}
	size = claims.length / FILES;
	claims_free(&claims);
	return size;
}

int
main(void)
{
	struct claims claims = { 0 };
	struct claims_reader reader = { .claims = &claims };
	struct claim claim;
	struct made made;
	int wrong = 0, count = 0;
	size_t size;

	ok(claims_next(&reader, &claim) == 0, "of none there is none");
	for (int i = 0; i < FILES; i++) {
		make(&made, i);
		if (claims_add(&claims, &made.file, made.resident) < 0)
			return 1;
	}
	for (; claims_next(&reader, &claim) > 0; count++) {
		make(&made, count);
		wrong += !is_same(&claim, &made);
	}
	ok(count == FILES && wrong == 0, "each comes back as it was");
	ok(claims_next(&reader, &claim) == 0, "and no more");
	claims_reader_free(&reader);
	claims_free(&claims);
	size = usual_size();
	ok(size > 0 && size <= 20, "20 bytes a file will do");
	return tap_done();
}
