/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HIERARCHY_H
#define HOTSET_HIERARCHY_H

#include <stdbool.h>

#include "mounts.h"

/*
 * Where our own memory cgroup is mounted in the hierarchy of VERSION (1 or 2): into
 * *POINT the mount point, into *BELOW what to append ("" or "/a/b"), both to be
 * freed. Of several mounts, the one that shows most of our ancestors. Reads
 * /proc/self/cgroup and /proc/self/mountinfo below ROOT. Returns 0, or -1 with
 * ENOENT where none can be seen.
 */
int hierarchy_find(const char *root, int version, char **point, char **below);

/* The same for the cgroup that /proc/PID/cgroup calls NAME. */
int hierarchy_locate(const char *root, int version, const char *name, char **point, char **below);

/* What our own memory cgroup is called, to be freed; NULL where it is the root, or there is none. */
char *hierarchy_own(const char *root);

/*
 * Opens the folder of a cgroup of version 1 or 2: CGROUP is one where they are mounted, or the
 * name as in /proc/PID/cgroup, in the hierarchy that counts memory or in that of version 2.
 * Returns a descriptor, or -1 with errno: ENOENT where there is no such cgroup.
 */
int hierarchy_open(const char *cgroup);

/* Whether MOUNT is one of a hierarchy of VERSION that has, or may have, the memory controller. */
bool hierarchy_has_memory(const struct mounts_entry *mount, int version);

#endif
