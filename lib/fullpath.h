/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_FULLPATH_H
#define HOTSET_FULLPATH_H

/*
 * PATH, seen from FOLDER (as getcwd(3) has it, or NULL where that failed), as seen from
 * anywhere: from the root on, without "." and slashes that say nothing. Links and ".." stay:
 * only the file system knows where they lead. To be freed; NULL with errno.
 */
char *fullpath(const char *folder, const char *path);

#endif
