/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "esc.h"
#include "num.h"

#define TITLE   "hotset snapshot "
#define VERSION "1"

int
snapshot_ranges_add(struct snapshot_ranges *ranges, const struct snapshot_range *range)
{
	struct snapshot_range *last = ranges->count ? &ranges->list[ranges->count - 1] : NULL;

	if (last && last->offset + last->length == range->offset && last->heat == range->heat) {
		last->length += range->length;
		return 0;
	}
	if (ranges->count == ranges->size) {
		size_t size = ranges->size ? 2 * ranges->size : 4;
		struct snapshot_range *larger = realloc(ranges->list, size * sizeof *larger);

		if (!larger)
			return -1;
		ranges->list = larger;
		ranges->size = size;
	}
	ranges->list[ranges->count++] = *range;
	return 0;
}

void
snapshot_ranges_free(struct snapshot_ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct snapshot_ranges){ 0 };
}

void
snapshot_identify(struct snapshot_file *file, const struct stat *status)
{
	file->device = status->st_dev;
	file->inode = status->st_ino;
	file->size = (uint64_t)status->st_size;
	file->seconds = status->st_mtim.tv_sec;
	file->nanoseconds = (uint32_t)status->st_mtim.tv_nsec;
}

int
snapshot_create(struct snapshot_writer *writer, const char *path)
{
	*writer = (struct snapshot_writer){ 0 };
	if (replace_init(&writer->to, path) < 0 || replace_begin(&writer->to) < 0)
		return -1;
	fputs(TITLE VERSION "\n", writer->to.stream);
	return 0;
}

int
snapshot_add(struct snapshot_writer *writer, const struct snapshot_file *file)
{
	FILE *stream = writer->to.stream;

	if (strlen(file->path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (writer->error)
		return 0;
	errno = 0;
	fprintf(stream, "file\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 ".%09" PRIu32 "\t",
	    file->device, file->inode, file->size, file->seconds, file->nanoseconds);
	esc_tsv(stream, file->path);
	fputc('\n', stream);
	for (size_t i = 0; i < file->ranges.count; i++) {
		const struct snapshot_range *range = &file->ranges.list[i];

		fprintf(stream, "in\t%" PRIu64 "\t%" PRIu64, range->offset, range->length);
		if (range->heat != SNAPSHOT_NO_HEAT)
			fprintf(stream, "\t%d", range->heat);
		fputc('\n', stream);
		writer->bytes += range->length;
	}
	writer->files++;
	if (ferror(stream))
		writer->error = errno ? errno : EIO;
	return 0;
}

int
snapshot_commit(struct snapshot_writer *writer)
{
	if (writer->error) {
		errno = writer->error;
		return -1;
	}
	fprintf(writer->to.stream, "end\t%" PRIu64 "\t%" PRIu64 "\n", writer->files, writer->bytes);
	return replace_commit(&writer->to);
}

void
snapshot_drop(struct snapshot_writer *writer)
{
	replace_drop(&writer->to);
}

static int
refuse(struct snapshot_reader *reader, const char *wrong)
{
	reader->wrong = wrong;
	errno = EBADMSG;
	return -1;
}

/* The next line, without its end: 1, 0 at the end of the file, -1. */
static int
read_line(struct snapshot_reader *reader)
{
	size_t length = 0;
	int byte;

	reader->number++;
	errno = 0;
	while ((byte = getc_unlocked(reader->stream)) != '\n' && byte != EOF) {
		if (byte == '\0')
			return refuse(reader, "it holds NUL");
		if (length + 1 == sizeof reader->line)
			return refuse(reader, "it is too long");
		reader->line[length++] = (char)byte;
	}
	reader->line[length] = '\0';
	if (byte == EOF && ferror(reader->stream)) {
		errno = errno ? errno : EIO;
		return -1;
	}
	if (byte == EOF && length)
		return refuse(reader, "it is cut off");
	return byte != EOF;
}

/* Cuts LINE into its FIELDS, which end with a tab; how many: at most MOST, or more. */
static size_t
split(char *line, char **fields, size_t most)
{
	size_t count = 0;

	for (char *next = line; next; count++) {
		char *field = strsep(&next, "\t");

		if (count < most)
			fields[count] = field;
	}
	return count;
}

/* Seconds since 1970 as "-12.000000345", always with all nine digits. */
static bool
read_time(char *text, struct snapshot_file *file)
{
	char *point = strchr(text, '.');
	bool negative = *text == '-';
	uint64_t seconds, nanoseconds;

	if (!point || strlen(point + 1) != 9)
		return false;
	*point = '\0';
	if (num_count(text + negative, &seconds) < 0 || num_count(point + 1, &nanoseconds) < 0 ||
	    seconds > (uint64_t)INT64_MAX + negative)
		return false;
	file->seconds = (int64_t)(negative ? -seconds : seconds);
	file->nanoseconds = (uint32_t)nanoseconds;
	return true;
}

/* The line that begins a file. */
static int
read_file(struct snapshot_reader *reader)
{
	struct snapshot_file *file = &reader->file;
	char *fields[6];

	if (split(reader->line, fields, 6) != 6 || num_count(fields[1], &file->device) < 0 ||
	    num_count(fields[2], &file->inode) < 0 || num_count(fields[3], &file->size) < 0 ||
	    file->size > INT64_MAX || !read_time(fields[4], file))
		return refuse(reader, "it is not: file DEVICE INODE SIZE MTIME PATH");
	if (esc_undo(fields[5]) < 0 || *fields[5] != '/' || strlen(fields[5]) >= PATH_MAX)
		return refuse(reader, "its path is none");
	file->path = strcpy(reader->path, fields[5]);
	file->ranges.count = 0;
	reader->files++;
	return 0;
}

/* A line below it. */
static int
read_range(struct snapshot_reader *reader)
{
	struct snapshot_ranges *ranges = &reader->file.ranges;
	struct snapshot_range range = { .heat = SNAPSHOT_NO_HEAT };
	const struct snapshot_range *last = ranges->count ? &ranges->list[ranges->count - 1] : NULL;
	uint64_t size = reader->file.size, heat;
	char *fields[4];
	size_t count = split(reader->line, fields, 4);

	if ((count != 3 && count != 4) || num_count(fields[1], &range.offset) < 0 ||
	    num_count(fields[2], &range.length) < 0)
		return refuse(reader, "it is not: in OFFSET LENGTH [HEAT]");
	if (count == 4) {
		if (num_count(fields[3], &heat) < 0 || heat > INT_MAX)
			return refuse(reader, "its heat is no number");
		range.heat = (int)heat;
	}
	if (range.length == 0 || range.offset > size || range.length > size - range.offset)
		return refuse(reader, "the range is empty, or beyond the size of its file");
	if (last && range.offset < last->offset + last->length)
		return refuse(reader, "the range is not behind the one before it");
	if (reader->bytes + range.length < reader->bytes)
		return refuse(reader, "the ranges add up to more than a number holds");
	reader->bytes += range.length;
	return snapshot_ranges_add(ranges, &range);
}

/* The last line: 0 where it is as it should be, and the last one. */
static int
read_end(struct snapshot_reader *reader)
{
	uint64_t files, bytes;
	char *fields[3];
	int more;

	if (split(reader->line, fields, 3) != 3 || num_count(fields[1], &files) < 0 ||
	    num_count(fields[2], &bytes) < 0)
		return refuse(reader, "it is not: end FILES BYTES");
	if (files != reader->files || bytes != reader->bytes)
		return refuse(reader, "files or bytes before it are not as many as it says");
	more = read_line(reader);
	if (more > 0)
		return refuse(reader, "it is behind the end");
	return more;
}

static bool
begins(const struct snapshot_reader *reader, const char *word)
{
	size_t length = strlen(word);

	return strncmp(reader->line, word, length) == 0 && reader->line[length] == '\t';
}

/* The first line, and the one behind it. */
static int
read_title(struct snapshot_reader *reader)
{
	int got = read_line(reader);

	if (got < 0 && !reader->wrong)
		return -1;
	if (got <= 0 || strncmp(reader->line, TITLE, strlen(TITLE)) != 0)
		return refuse(reader, "it does not begin a snapshot (" TITLE VERSION ")");
	if (strcmp(reader->line + strlen(TITLE), VERSION) != 0)
		return refuse(reader, "a version of the format that is not known here");
	return read_line(reader) < 0 ? -1 : 0;
}

int
snapshot_open(struct snapshot_reader *reader, const char *path)
{
	*reader = (struct snapshot_reader){ .stream = fopen(path, "re") };
	return reader->stream ? read_title(reader) : -1;
}

int
snapshot_again(struct snapshot_reader *reader)
{
	if (fseek(reader->stream, 0, SEEK_SET) < 0)
		return -1;
	reader->number = reader->files = reader->bytes = 0;
	return read_title(reader);
}

int
snapshot_next(struct snapshot_reader *reader)
{
	int got;

	if (begins(reader, "end"))
		return read_end(reader);
	if (!begins(reader, "file"))
		return refuse(reader,
		    reader->line[0] ? "it is none that is known" : "the end is missing");
	if (read_file(reader) < 0)
		return -1;
	while ((got = read_line(reader)) > 0 && begins(reader, "in"))
		if (read_range(reader) < 0)
			return -1;
	return got < 0 ? -1 : 1;
}

void
snapshot_close(struct snapshot_reader *reader)
{
	if (reader->stream)
		fclose(reader->stream);
	reader->stream = NULL;
	snapshot_ranges_free(&reader->file.ranges);
}

void
snapshot_explain(const struct snapshot_reader *reader, const char *path)
{
	if (reader->wrong)
		diag_error("%s: not to be used: line %" PRIu64 ": %s", path, reader->number,
		    reader->wrong);
	else
		diag_file(path, errno);
}
