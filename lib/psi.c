/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "psi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

/* The number after "total=" in the rest of a line, or PSI_UNKNOWN. */
static uint64_t
total_of(char *rest)
{
	uint64_t total;
	char *word;

	while ((word = strsep(&rest, " \n")))
		if (strncmp(word, "total=", 6) == 0)
			return num_count(word + 6, &total) == 0 ? total : PSI_UNKNOWN;
	return PSI_UNKNOWN;
}

int
psi_read(const char *path, struct psi *psi)
{
	FILE *stream = fopen(path, "re");
	char line[256];
	int failed;

	*psi = (struct psi){ PSI_UNKNOWN, PSI_UNKNOWN };
	if (!stream)
		return -1;
	while (fgets(line, sizeof line, stream)) {
		if (strncmp(line, "some ", 5) == 0)
			psi->some = total_of(line + 5);
		else if (strncmp(line, "full ", 5) == 0)
			psi->full = total_of(line + 5);
	}
	failed = ferror(stream) ? errno : psi->some == PSI_UNKNOWN ? EINVAL : 0;
	fclose(stream);
	errno = failed;
	return failed ? -1 : 0;
}
