/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LIST_H
#define HOTSET_LIST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Names from a file or standard input, one a line or each ended by NUL. A last line
 * needs no end; a last name without its NUL is none, as it may have been cut anywhere.
 * Empty ones are left out.
 */
struct list {
	int fd;
	char end;      /* '\n' or '\0' */
	bool finished; /* nothing left to read */
	bool overlong; /* what comes is the rest of a name that is too long */
	size_t limit;  /* bytes that a name is shorter than: PATH_MAX, or what is set once open */
	char *buffer;
	size_t size, start, filled; /* unread: from start up to filled */
};

/* Opens NAME ("-": standard input); -1 with errno. */
int list_open(struct list *list, const char *name, bool nul);

/*
 * The next name into *NAME, valid until the next call. Returns 1, 0 at the end, -1
 * with errno: EAGAIN where more must be read (list_fill), EINVAL for a line that
 * holds NUL (*NAME is what stands before it), however long, ENAMETOOLONG for another
 * that is too long (*NAME is how it begins), LIST_CUT for a last name that lacks its NUL
 * (*NAME is what there is).
 */
#define LIST_CUT ENOMSG /* that no file system says of a name */
int list_next(struct list *list, const char **name);

/* Whether more can be read within TIMEOUT milliseconds. */
bool list_ready(const struct list *list, int timeout);

/* Reads more, blocking; -1 with errno. */
int list_fill(struct list *list);

void list_close(struct list *list);

#endif
