/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "holders.h"

#define FORCE "--force evicts it all the same"
#define WORDS 512

int
left_add(struct left *left, const struct each_file *file, enum inuse why)
{
	struct left_file *told;

	if (left->count++ >= LEFT_TOLD)
		return 0;
	told = &left->told[left->count - 1];
	told->device = file->status.st_dev;
	told->inode = file->status.st_ino;
	told->why = why;
	told->path = strdup(file->path);
	return told->path ? 0 : -1;
}

/* "process 12 (tail)", or "processes 12 (tail), 13 (cat), 14 (sh) and 2 more" */
static const char *
words_of(const struct holders *holders, char words[static WORDS])
{
	size_t named = holders->count < HOLDERS_NAMED ? holders->count : HOLDERS_NAMED;
	int length = snprintf(words, WORDS, "process%s", holders->count > 1 ? "es" : "");

	for (size_t i = 0; i < named; i++)
		length += snprintf(words + length, WORDS - (size_t)length, "%s %d (%s)",
		    i ? "," : "", (int)holders->named[i].pid, holders->named[i].command);
	if (holders->count > named)
		snprintf(words + length, WORDS - (size_t)length, " and %zu more",
		    holders->count - named);
	return words;
}

static void
explain_held(const struct left_file *file, const char *left, const struct holders *holders)
{
	char words[WORDS];

	if (holders->count)
		diag_error("%s: %s: %s %s it open or mapped; " FORCE, file->path, left,
		    words_of(holders, words), holders->count > 1 ? "have" : "has");
	else
		diag_error("%s: %s: it is open or mapped, by a process that we cannot see or "
			   "that has gone, or by the kernel (loop device, swap); " FORCE,
		    file->path, left);
}

static void
explain(const struct left_file *file, const char *left, const struct holders *holders)
{
	switch (file->why) {
	case INUSE_FREE:
	case INUSE_HELD:
		explain_held(file, left, holders);
		break;
	case INUSE_DEVICE:
		diag_error("%s: %s: a block device has pages in memory only while it is open or "
			   "mounted; " FORCE,
		    file->path, left);
		break;
	case INUSE_OVERLAY:
		diag_error("%s: %s: cannot tell whether another process has it open: on "
			   "overlayfs, that may be through other mounts; " FORCE,
		    file->path, left);
		break;
	case INUSE_UNSEEN:
		diag_error("%s: %s: cannot tell whether another process has it open: that takes "
			   "its owner, CAP_LEASE, or a view of all processes (root); " FORCE,
		    file->path, left);
		break;
	}
}

void
left_explain(struct left *left)
{
	size_t count = left->count < LEFT_TOLD ? (size_t)left->count : LEFT_TOLD;
	struct holders holders[LEFT_TOLD] = { 0 };
	const char *words = left->dry_run ? "would be left" : "left";
	bool complete, held = false;

	for (size_t i = 0; i < count; i++) {
		holders[i].device = left->told[i].device;
		holders[i].inode = left->told[i].inode;
		held |= left->told[i].why == INUSE_HELD;
	}
	if (held && holders_find(holders, count, &complete) < 0)
		diag_detail("the processes cannot be named: /proc cannot be read");
	for (size_t i = 0; i < count; i++) {
		explain(&left->told[i], words, &holders[i]);
		free(left->told[i].path);
	}
	if (left->count > count)
		diag_error("%llu more files %s for such reasons",
		    (unsigned long long)(left->count - count), left->dry_run ? words : "were left");
	left->count = 0;
}
