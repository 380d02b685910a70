/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mounts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int
mounts_open(const char *root, struct mounts *mounts)
{
	char *path = NULL;

	if (asprintf(&path, "%s/proc/self/mountinfo", root) < 0)
		return -1;
	mounts->stream = fopen(path, "re");
	free(path);
	return mounts->stream ? 0 : -1;
}

static int
is_octal(char byte)
{
	return byte >= '0' && byte <= '7';
}

/* The kernel writes blanks, newlines and backslashes as \ooo. */
static char *
unescape(char *text)
{
	char *to = text;

	for (char *at = text; *at; to++) {
		if (at[0] == '\\' && is_octal(at[1]) && is_octal(at[2]) && is_octal(at[3])) {
			*to = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else
			*to = *at++;
	}
	*to = '\0';
	return text;
}

/*
 * ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS
 */
static int
take_line(char *line, struct mounts_entry *entry)
{
	char *words[5], *rest = line, *word;

	for (int i = 0; i < 5; i++) {
		words[i] = strsep(&rest, " ");
		if (!words[i] || !rest)
			return -1;
	}
	do
		word = strsep(&rest, " ");
	while (word && strcmp(word, "-") != 0);
	entry->number = strtol(words[0], NULL, 10);
	entry->root = unescape(words[3]);
	entry->point = unescape(words[4]);
	entry->type = strsep(&rest, " ");
	if (!rest)
		return -1;
	entry->source = unescape(strsep(&rest, " "));
	if (!rest)
		return -1;
	entry->options = rest;
	return 0;
}

struct mounts_entry *
mounts_next(struct mounts *mounts)
{
	bool whole = true;

	while (fgets(mounts->line, sizeof mounts->line, mounts->stream)) {
		char *end = strchr(mounts->line, '\n');
		bool starts = whole;

		whole = end != NULL;
		if (!starts || !whole)
			continue;
		*end = '\0';
		if (take_line(mounts->line, &mounts->entry) == 0)
			return &mounts->entry;
	}
	return NULL;
}

void
mounts_close(struct mounts *mounts)
{
	if (mounts->stream)
		fclose(mounts->stream);
	mounts->stream = NULL;
}
