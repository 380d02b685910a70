/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

struct folder {
	int fd;
	atomic_uint holders;
};

struct folder *
folder_open(struct folder *parent, const char *name, int flags)
{
	int fd = openat(folder_fd(parent), name,
	    O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | flags);

	return fd < 0 ? NULL : folder_of(fd);
}

struct folder *
folder_of(int fd)
{
	struct folder *folder = malloc(sizeof *folder);

	if (!folder) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	folder->fd = fd;
	atomic_init(&folder->holders, 1);
	return folder;
}

int
folder_fd(const struct folder *folder)
{
	return folder ? folder->fd : AT_FDCWD;
}

struct folder *
folder_hold(struct folder *folder)
{
	if (folder)
		atomic_fetch_add(&folder->holders, 1);
	return folder;
}

void
folder_release(struct folder *folder)
{
	if (folder && atomic_fetch_sub(&folder->holders, 1) == 1) {
		close(folder->fd);
		free(folder);
	}
}

bool
folder_is_pseudo(int fd)
{
	static const uint32_t magics[] = {
		BINFMTFS_MAGIC, BPF_FS_MAGIC, CGROUP2_SUPER_MAGIC, CGROUP_SUPER_MAGIC,
		DEBUGFS_MAGIC, DEVPTS_SUPER_MAGIC, EFIVARFS_MAGIC, NSFS_MAGIC, PROC_SUPER_MAGIC,
		PSTOREFS_MAGIC, SECURITYFS_MAGIC, SELINUX_MAGIC, SMACK_MAGIC, SYSFS_MAGIC,
		TRACEFS_MAGIC, 0x62656570 /* configfs */, 0x65735543 /* fusectl */,
		0x19800202 /* mqueue */, 0x50494446 /* pidfs */, 0x67596969 /* rpc_pipefs */
	};
	struct statfs status;

	if (fstatfs(fd, &status) < 0)
		return false;
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if ((uint32_t)status.f_type == magics[i])
			return true;
	return false;
}
