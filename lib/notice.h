/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_NOTICE_H
#define HOTSET_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Notices what happens in folders: inotify(7), and no more of its watches than half of what the
 * user may have.
 */

struct notice {
	int fd; /* readable when something has happened; -1: there is none */

	/* its own */
	size_t count, most; /* watches: until they are given up, since their end may be lost */
	int last;           /* the highest number of one: the kernel counts up */
};

enum notice_what {
	NOTICE_CHANGED, /* a name in the folder is another file by now, or none, or was written to */
	NOTICE_GONE,    /* the folder itself is, or is called otherwise */
	NOTICE_LOST,    /* events were: of whatever folder */
};

/* Where there is no inotify, every watch fails. */
void notice_begin(struct notice *notice);
void notice_end(struct notice *notice);

/* The watch of a folder, the same one for each name of it; -1 where there are too many (ENOSPC),
 * or it cannot be watched, with errno. */
int notice_watch(struct notice *notice, const char *path);

/* Gives up a watch, once: also that of a folder that is gone, which counts until then. */
void notice_unwatch(struct notice *notice, int watch);

/* Tells what has happened, 1 MiB of events at most, and leaves the rest for the next time; NAME:
 * NULL for the folder itself. Never waits. */
void notice_read(struct notice *notice,
    void (*happened)(enum notice_what what, int watch, const char *name, void *argument),
    void *argument);

#endif
