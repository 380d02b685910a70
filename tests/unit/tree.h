/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Made-up file system trees for the unit tests of what reads /proc and /sys. */

static char tree_top[] = "/tmp/hotset-unit.XXXXXX"; /* all are below it */
static char tree[64];                               /* the one at hand */

/* Before the first; a test that cannot make them ends. */
static inline void
begin_trees(void)
{
	if (!mkdtemp(tree_top)) {
		perror(tree_top);
		exit(1);
	}
}

static inline void
begin_tree(const char *name)
{
	snprintf(tree, sizeof tree, "%s/%s", tree_top, name);
}

/* Writes TEXT into the file PATH of the tree, and makes its folders. */
static inline void
put(const char *path, const char *text)
{
	char full[512];
	FILE *stream;

	snprintf(full, sizeof full, "%s%s", tree, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	stream = fopen(full, "w");
	if (!stream || fputs(text, stream) < 0 || fclose(stream) != 0) {
		perror(full);
		exit(1);
	}
}

/* After the last. */
static inline void
remove_trees(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", tree_top);
	if (system(command) != 0)
		perror(tree_top);
}

#endif
