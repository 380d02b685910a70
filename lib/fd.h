/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FD_H
#define HOTSET_FD_H

/* Closes FD, on the way out of a failure: errno stays what it is. */
void fd_close(int fd);

#endif
