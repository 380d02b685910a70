/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysctl.h"

#include <stdio.h>
#include <string.h>

#include "num.h"

uint64_t
sysctl_number(const char *name, uint64_t otherwise)
{
	char path[128], line[32];
	uint64_t value = otherwise;
	FILE *stream;

	snprintf(path, sizeof path, "/proc/sys/%s", name);
	stream = fopen(path, "re");
	if (!stream)
		return otherwise;
	if (fgets(line, sizeof line, stream)) {
		line[strcspn(line, "\n")] = '\0';
		if (num_count(line, &value) < 0)
			value = otherwise;
	}
	fclose(stream);
	return value;
}
