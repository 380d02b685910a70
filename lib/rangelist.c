/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rangelist.h"

#include <errno.h>
#include <string.h>

#include "esc.h"

bool
rangelist_holds(const char *path, bool nul)
{
	return nul || strchr(path, '\n') == NULL;
}

int
rangelist_write(FILE *stream, const struct ranges *ranges, const char *path, bool nul, bool escaped)
{
	for (size_t i = 0; i < ranges->count && !ferror(stream); i++) {
		const struct num_range *range = &ranges->list[i];

		fprintf(stream, "%llu:%llu\t", (unsigned long long)range->offset,
		    (unsigned long long)range->length);
		if (escaped && !nul)
			esc_terminal(stream, path);
		else
			fputs(path, stream);
		fputc(nul ? '\0' : '\n', stream);
	}
	return ferror(stream) ? -1 : 0;
}

/* A number up to END, where it ends: 1, 0 where that is none, -1 where it is too large. */
static int
read_number(char **text, char end, uint64_t *value)
{
	char *digits = *text;
	int result;

	*text += strspn(digits, "0123456789");
	if (*text == digits || **text != end)
		return 0;
	**text = '\0';
	result = num_count(digits, value);
	*(*text)++ = end;
	return result < 0 ? -1 : 1;
}

/* Where the name of LINE begins, and what stands before it: *WHOLE where that is nothing. NULL
 * with ERANGE where it is too large. */
static const char *
split(char *line, struct num_range *range, bool *whole)
{
	char *at = line;
	int first = read_number(&at, ':', &range->offset), second = 0;

	if (first != 0)
		second = read_number(&at, '\t', &range->length);
	*whole = second == 0 || !*at;
	if (*whole)
		return line;
	if (first < 0 || second < 0 || range->length > UINT64_MAX - range->offset) {
		errno = ERANGE;
		return NULL;
	}
	return at;
}

static int
begin(struct rangelist_file *file, const char *path, const struct num_range *range, bool whole)
{
	if (strlen(path) >= sizeof file->path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(file->path, path);
	file->held = true;
	file->whole = whole;
	file->ranges.count = 0;
	return whole ? 0 : ranges_add(&file->ranges, range->offset, range->length);
}

/* Takes a line: 1 where the file at hand is complete now, else 0, or -1. */
static int
take(struct rangelist *reader, char *line)
{
	struct rangelist_file *file = &reader->files[reader->at];
	struct num_range range = { 0 };
	bool whole;
	const char *path = split(line, &range, &whole);

	if (!path)
		return -1;
	if (!file->held)
		return begin(file, path, &range, whole) < 0 ? -1 : whole;
	if (!whole && strcmp(path, file->path) == 0)
		return ranges_add(&file->ranges, range.offset, range.length);
	return begin(&reader->files[!reader->at], path, &range, whole) < 0 ? -1 : 1;
}

static int
give(struct rangelist *reader, const char **name)
{
	struct rangelist_file *file = &reader->files[reader->at];

	ranges_arrange(&file->ranges);
	*name = file->path;
	reader->given = true;
	return 1;
}

int
rangelist_next(struct rangelist *reader, struct list *list, const char **name)
{
	int got;

	list->limit = RANGELIST_LINE;
	if (reader->given) {
		reader->files[reader->at].held = false;
		reader->at = !reader->at;
		reader->given = false;
	}
	if (reader->files[reader->at].held && reader->files[reader->at].whole)
		return give(reader, name); /* it need not wait for the next line */
	while ((got = list_next(list, name)) > 0) {
		got = take(reader, (char *)*name);
		if (got < 0)
			return -1;
		if (got > 0)
			return give(reader, name);
	}
	return got == 0 && reader->files[reader->at].held ? give(reader, name) : got;
}

const struct num_range *
rangelist_parts(const struct rangelist *reader, size_t *count)
{
	static const struct num_range none;
	const struct rangelist_file *file = &reader->files[reader->at];

	if (file->whole)
		return NULL;
	*count = file->ranges.count ? file->ranges.count : 1;
	return file->ranges.count ? file->ranges.list : &none;
}
