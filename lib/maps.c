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

/* FROM-TO PERMISSIONS OFFSET MAJOR:MINOR INODE [PATH], the latter after blanks */
static bool
take_line(char *line, struct maps_entry *entry)
{
	char *words[5], *rest = line, *end;
	unsigned long major_number;

	for (int i = 0; i < 5; i++)
		if (!(words[i] = strsep(&rest, " ")))
			return false;
	if (!rest)
		return false;
	major_number = strtoul(words[3], &end, 16);
	if (*end != ':')
		return false;
	entry->device = makedev(major_number, strtoul(end + 1, NULL, 16));
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
