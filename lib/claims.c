/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "claims.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER 10 /* bytes that a number takes at most, seven bits in each */

/* LIST of *SIZE elements, with room for WANTED of them; NULL where there is none. */
static void *
grown(void *list, size_t *size, size_t element, size_t wanted)
{
	void *larger;

	if (wanted <= *size)
		return list;
	wanted += wanted / 2 + 64;
	larger = reallocarray(list, wanted, element);
	if (larger)
		*size = wanted;
	return larger;
}

static bool
reserve_path(struct claims_last *last, size_t length)
{
	char *path = grown(last->path, &last->path_size, 1, length + 1);

	if (!path)
		return false;
	if (!last->path)
		*path = '\0';
	last->path = path;
	return true;
}

static bool
reserve_bytes(struct claims *claims, size_t more)
{
	unsigned char *bytes = grown(claims->bytes, &claims->size, 1, claims->length + more);

	if (bytes)
		claims->bytes = bytes;
	return bytes;
}

static bool
reserve_parts(struct claims_reader *reader, size_t count)
{
	struct num_range *parts = grown(reader->parts, &reader->parts_size, sizeof *parts, count);

	if (parts)
		reader->parts = parts;
	return parts;
}

static void
put(struct claims *claims, uint64_t number)
{
	for (; number > 127; number >>= 7)
		claims->bytes[claims->length++] = (unsigned char)(number | 128);
	claims->bytes[claims->length++] = (unsigned char)number;
}

static uint64_t
get(struct claims_reader *reader)
{
	uint64_t number = 0;
	unsigned char byte;

	for (unsigned shift = 0;; shift += 7) {
		byte = reader->claims->bytes[reader->at++];
		number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return number;
	}
}

/* A difference of either sign as a number that is small where it is. */
static uint64_t
fold(uint64_t difference)
{
	return difference >> 63 ? ~(difference << 1) : difference << 1;
}

static uint64_t
unfold(uint64_t number)
{
	return number & 1 ? ~(number >> 1) : number >> 1;
}

/* How many bytes PATH begins with as the last one did. */
static size_t
common(const char *path, const char *last)
{
	size_t length = 0;

	while (path[length] && path[length] == last[length])
		length++;
	return length;
}

static void
put_path(struct claims *claims, const char *path, size_t length)
{
	size_t same = common(path, claims->last.path);

	put(claims, same);
	put(claims, length - same);
	memcpy(claims->bytes + claims->length, path + same, length - same);
	claims->length += length - same;
	memcpy(claims->last.path, path, length + 1);
}

static void
put_parts(struct claims *claims, const struct num_range *parts, size_t count)
{
	uint64_t end = 0;

	put(claims, count);
	for (size_t i = 0; i < count; i++) {
		put(claims, fold(parts[i].offset - end));
		put(claims, parts[i].length);
		end = parts[i].offset + parts[i].length;
	}
}

int
claims_add(struct claims *claims, const struct each_file *file, uint64_t resident)
{
	struct claims_last *last = &claims->last;
	struct num_range whole = { file->offset, file->length };
	size_t count = file->parts ? file->part_count : 1, length = strlen(file->path);

	if (!reserve_bytes(claims, length + (2 * count + 7) * NUMBER) ||
	    !reserve_path(last, length))
		return -1;
	put_path(claims, file->path, length);
	put(claims, fold(file->operand - last->operand) << 1 | S_ISBLK(file->status.st_mode));
	put(claims, fold(file->status.st_dev - last->device));
	put(claims, fold(file->status.st_ino - last->inode));
	put(claims, file->length - resident);
	put_parts(claims, file->parts ? file->parts : &whole, count);
	last->operand = file->operand;
	last->device = file->status.st_dev;
	last->inode = file->status.st_ino;
	return 0;
}

static bool
get_path(struct claims_reader *reader)
{
	size_t same = get(reader), rest = get(reader);
	struct claims_last *last = &reader->last;

	if (!reserve_path(last, same + rest))
		return false;
	memcpy(last->path + same, reader->claims->bytes + reader->at, rest);
	last->path[same + rest] = '\0';
	reader->at += rest;
	return true;
}

/* The sum of their lengths into *LENGTH. */
static bool
get_parts(struct claims_reader *reader, size_t *count, uint64_t *length)
{
	uint64_t end = 0;

	*count = get(reader);
	*length = 0;
	if (!reserve_parts(reader, *count))
		return false;
	for (size_t i = 0; i < *count; i++) {
		struct num_range *part = &reader->parts[i];

		part->offset = end + unfold(get(reader));
		part->length = get(reader);
		end = part->offset + part->length;
		*length += part->length;
	}
	return true;
}

int
claims_next(struct claims_reader *reader, struct claim *claim)
{
	struct claims_last *last = &reader->last;
	uint64_t number, missing, length;

	if (reader->at == reader->claims->length)
		return 0;
	if (!get_path(reader))
		return -1;
	number = get(reader);
	last->operand += unfold(number >> 1);
	last->device += unfold(get(reader));
	last->inode += unfold(get(reader));
	missing = get(reader);
	if (!get_parts(reader, &claim->part_count, &length))
		return -1;
	claim->path = last->path;
	claim->operand = last->operand;
	claim->device = last->device;
	claim->inode = last->inode;
	claim->disk = number & 1;
	claim->resident = length - missing;
	claim->parts = reader->parts;
	return 1;
}

void
claims_reader_free(struct claims_reader *reader)
{
	free(reader->last.path);
	free(reader->parts);
}

void
claims_free(struct claims *claims)
{
	free(claims->bytes);
	free(claims->last.path);
	*claims = (struct claims){ 0 };
}
