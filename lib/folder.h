/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FOLDER_H
#define HOTSET_FOLDER_H

#include <stdbool.h>

/*
 * An open folder, shared by the walk and by those who open the files in it. NULL
 * stands for the current one.
 */
struct folder;

/* Opens NAME relative to PARENT; FLAGS: O_NOFOLLOW or 0. NULL with errno. */
struct folder *folder_open(struct folder *parent, const char *name, int flags);

/* A file that is open, to be held as a folder is; takes over FD. NULL with ENOMEM. */
struct folder *folder_of(int fd);

/* For openat(2). */
int folder_fd(const struct folder *folder);

struct folder *folder_hold(struct folder *folder);
void folder_release(struct folder *folder);

/* Whether FD lies on a file system that keeps nothing in the page cache, and where
 * opening a file can do things: proc, sysfs, tracefs and their like. */
bool folder_is_pseudo(int fd);

#endif
