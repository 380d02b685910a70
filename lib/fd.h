/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FD_H
#define HOTSET_FD_H

/* Closes FD, on the way out of a failure: errno stays what it is. */
void fd_close(int fd);

/* Lets us have as many files open as may be. Not for who starts others, which might use select(2). */
void fd_raise_limit(void);

#endif
