/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CGROUPNAMES_H
#define HOTSET_CGROUPNAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The memory cgroups that can be seen, by the inodes of their folders, which is how the
 * kernel names them in /proc/kpagecgroup.
 */
struct cgroupnames {
	char *point; /* where the hierarchy is mounted */
	char *name;  /* of the cgroup there, "" for the root */

	struct cgroupnames_group {
		uint64_t inode;
		char *path; /* NULL: looked for, and not there */
	} * list;           /* by inode */
	size_t count, size;
};

/*
 * Finds the hierarchy that has the memory controller, of version 1 where it is mounted, else
 * of version 2: of several mounts, the one that shows most. All is read below ROOT ("" but in
 * tests). 0, or -1 with ENOENT where there is none, or ENOMEM.
 */
int cgroupnames_open(struct cgroupnames *groups, const char *root);

/*
 * The path of INODE's cgroup as in /proc/PID/cgroup into *PATH, "/" for the root, NULL where
 * there is no such cgroup. 0, or -1 with errno where the hierarchy cannot be read.
 */
int cgroupnames_path(struct cgroupnames *groups, uint64_t inode, const char **path);

void cgroupnames_close(struct cgroupnames *groups);

#endif
