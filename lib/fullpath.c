/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fullpath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Puts the names in PATH at END, each behind a slash; returns the new end. */
static char *
append(char *end, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length && !(length == 1 && *path == '.')) {
			*end++ = '/';
			memcpy(end, path, length);
			end += length;
		}
		path += length;
		path += *path == '/';
	}
	return end;
}

char *
fullpath(const char *folder, const char *path)
{
	char *full, *end;

	if (*path == '/')
		folder = "";
	if (!folder) {
		errno = ENOENT;
		return NULL;
	}
	full = malloc(strlen(folder) + strlen(path) + 3);
	if (!full)
		return NULL;
	end = append(append(full, folder), path);
	if (end == full)
		*end++ = '/';
	*end = '\0';
	return full;
}
