/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "num.h"

#define NEWLINE "\\012"

int
maps_open(struct maps *maps, const char *path)
{
	*maps = (struct maps){ .stream = fopen(path, "re") };
	return maps->stream ? 0 : -1;
}

/* The hexadecimal number at *TEXT, which moves behind it. (strtoul is 2 KB of binary.) */
static unsigned
read_hex(const char **text)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;
	unsigned number = 0;

	for (; **text && (digit = strchr(digits, **text)); (*text)++)
		number = number << 4 | (unsigned)(digit - digits);
	return number;
}

/* MAJOR:MINOR */
static bool
read_device(const char *text, uint64_t *device)
{
	unsigned major_number = read_hex(&text);

	if (*text++ != ':')
		return false;
	*device = makedev(major_number, read_hex(&text));
	return *text == '\0';
}

/* FROM-TO PERMISSIONS OFFSET MAJOR:MINOR INODE [PATH], the latter after blanks */
static bool
take_line(char *line, struct maps_entry *entry)
{
	char *words[5], *rest = line;

	for (int i = 0; i < 5; i++)
		if (!(words[i] = strsep(&rest, " ")))
			return false;
	if (!rest || !read_device(words[3], &entry->device))
		return false;
	entry->path = rest + strspn(rest, " ");
	entry->path[strcspn(entry->path, "\n")] = '\0';
	/* [heap] and anon_inode:[io_uring] are none */
	return num_count(words[4], &entry->inode) == 0 && *entry->path == '/';
}

struct maps_entry *
maps_next(struct maps *maps)
{
	while (getline(&maps->line, &maps->size, maps->stream) > 0)
		if (take_line(maps->line, &maps->entry))
			return &maps->entry;
	return NULL;
}

void
maps_close(struct maps *maps)
{
	if (maps->stream)
		fclose(maps->stream);
	free(maps->line);
	*maps = (struct maps){ 0 };
}

bool
maps_unescape(char *path)
{
	char *to = path;
	bool found = false;

	for (char *at = path; *at; to++) {
		if (strncmp(at, NEWLINE, strlen(NEWLINE)) == 0) {
			*to = '\n';
			at += strlen(NEWLINE);
			found = true;
		} else
			*to = *at++;
	}
	*to = '\0';
	return found;
}
