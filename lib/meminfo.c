/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meminfo.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "num.h"
#include "residency.h"

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{ "MemTotal", offsetof(struct meminfo, total) },
	{ "MemFree", offsetof(struct meminfo, free) },
	{ "MemAvailable", offsetof(struct meminfo, available) },
	{ "Buffers", offsetof(struct meminfo, buffers) },
	{ "Cached", offsetof(struct meminfo, cached) },
	{ "Inactive(file)", offsetof(struct meminfo, inactive_file) },
	{ "Mlocked", offsetof(struct meminfo, mlocked) },
	{ "Unevictable", offsetof(struct meminfo, unevictable) },
};

#define FIELDS (sizeof fields / sizeof *fields)

static uint64_t *
field_of(struct meminfo *info, size_t i)
{
	return (uint64_t *)((char *)info + fields[i].offset);
}

/* TEXT as "   123 kB\n"; anything else is unknown. */
static uint64_t
kilobytes(char *text)
{
	uint64_t bytes;
	char *unit;

	text += strspn(text, " \t");
	unit = text + strcspn(text, " ");
	if (strcmp(unit, " kB\n") != 0)
		return MEMINFO_UNKNOWN;
	*unit = '\0';
	if (num_count(text, &bytes) < 0 || __builtin_mul_overflow(bytes, 1024, &bytes))
		return MEMINFO_UNKNOWN;
	return bytes;
}

/* Whether LINE was one of ours. */
static int
take_line(char *line, struct meminfo *info)
{
	for (size_t i = 0; i < FIELDS; i++) {
		size_t length = strlen(fields[i].name);

		if (strncmp(line, fields[i].name, length) != 0 || line[length] != ':')
			continue;
		*field_of(info, i) = kilobytes(line + length + 1);
		return *field_of(info, i) != MEMINFO_UNKNOWN;
	}
	return 0;
}

int
meminfo_read(const char *path, struct meminfo *info)
{
	FILE *stream = fopen(path, "re");
	char line[256];
	int found = 0, failed;

	for (size_t i = 0; i < FIELDS; i++)
		*field_of(info, i) = MEMINFO_UNKNOWN;
	if (!stream)
		return -1;
	while (fgets(line, sizeof line, stream))
		found += take_line(line, info);
	failed = ferror(stream) ? errno : 0;
	fclose(stream);
	if (failed || !found) {
		errno = failed ? failed : EINVAL;
		return -1;
	}
	return 0;
}

/* A zone's line "        high     1234\n", in pages; that of a processor's list, "high: 12", is
 * none. 0 for all other lines. */
static uint64_t
high_watermark(char *line)
{
	uint64_t pages;

	line += strspn(line, " ");
	if (strncmp(line, "high ", 5) != 0)
		return 0;
	line += 4 + strspn(line + 4, " ");
	line[strcspn(line, "\n")] = '\0';
	return num_count(line, &pages) < 0 ? MEMINFO_UNKNOWN : pages;
}

uint64_t
meminfo_kept_free(const char *path)
{
	FILE *stream = fopen(path, "re");
	uint64_t pages = 0, bytes;
	char line[256];
	bool failed;

	if (!stream)
		return MEMINFO_UNKNOWN;
	while (fgets(line, sizeof line, stream))
		pages = num_sum(pages, high_watermark(line));
	failed = ferror(stream) || pages == 0 || pages == MEMINFO_UNKNOWN ||
	    __builtin_mul_overflow(pages, residency_page_size(), &bytes);
	fclose(stream);
	return failed ? MEMINFO_UNKNOWN : bytes;
}
