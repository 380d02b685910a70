/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{ "pgpgin", offsetof(struct vmstat, pgpgin) },
	{ "pswpin", offsetof(struct vmstat, pswpin) },
	{ "pgmajfault", offsetof(struct vmstat, pgmajfault) },
	{ "nr_dirtied", offsetof(struct vmstat, nr_dirtied) },
	{ "pgsteal_file", offsetof(struct vmstat, pgsteal_file) },
	{ "oom_kill", offsetof(struct vmstat, oom_kill) },
};

#define FIELDS (sizeof fields / sizeof *fields)

static uint64_t *
field_of(struct vmstat *vmstat, size_t i)
{
	return (uint64_t *)((char *)vmstat + fields[i].offset);
}

/* LINE as "name 123\n". */
static void
take_line(char *line, struct vmstat *vmstat)
{
	char *number = line + strcspn(line, " ");

	number[strcspn(number, "\n")] = '\0';
	if (!*number)
		return;
	*number++ = '\0';
	for (size_t i = 0; i < FIELDS; i++)
		if (strcmp(line, fields[i].name) == 0 && num_count(number, field_of(vmstat, i)) < 0)
			*field_of(vmstat, i) = VMSTAT_UNKNOWN;
}

int
vmstat_read(const char *root, struct vmstat *vmstat)
{
	char *path = NULL, line[128];
	FILE *stream;
	int failed;

	for (size_t i = 0; i < FIELDS; i++)
		*field_of(vmstat, i) = VMSTAT_UNKNOWN;
	if (asprintf(&path, "%s/proc/vmstat", root) < 0)
		return -1;
	stream = fopen(path, "re");
	free(path);
	if (!stream)
		return -1;
	while (fgets(line, sizeof line, stream))
		take_line(line, vmstat);
	failed = ferror(stream) ? errno : 0;
	fclose(stream);
	errno = failed;
	return failed ? -1 : 0;
}
