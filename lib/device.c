/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "device.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mounts.h"

#define USUAL_AHEAD (128U << 10) /* VM_READAHEAD_PAGES */
#define REMEMBERED  8            /* devices; each subvolume of btrfs is one */

/* linux/magic.h has some of them only, and which depends on its version. */
#define NFS_MAGIC    0x6969
#define CIFS_MAGIC   0xff534d42
#define SMB2_MAGIC   0xfe534d42
#define CEPH_MAGIC   0x00c36400
#define LUSTRE_MAGIC 0x0bd00bd0
#define P9_MAGIC     0x01021997
#define FUSE_MAGIC   0x65735546

bool
device_says(const char *root, dev_t number, const char *name, char *text, size_t size)
{
	static const char *const above[] = { "", "../" };
	char path[PATH_MAX];
	ssize_t n = -1;

	for (size_t i = 0; n < 0 && i < 2; i++) {
		int fd;

		snprintf(path, sizeof path, "%s/sys/dev/block/%u:%u/%squeue/%s", root,
		    major(number), minor(number), above[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, size - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/* A number of it; OTHERWISE where there is none. */
static uint64_t
number_of(const char *root, dev_t number, const char *name, uint64_t otherwise)
{
	char text[32], *end;
	uint64_t value;

	if (!device_says(root, number, name, text, sizeof text))
		return otherwise;
	value = strtoull(text, &end, 10);
	return end == text ? otherwise : value;
}

/* Disks of virtual machines say that they rotate, as nobody told them what they lie on. */
static bool
is_virtual(const char *root, dev_t number)
{
	char link[PATH_MAX], target[PATH_MAX], *name;
	ssize_t n;

	snprintf(link, sizeof link, "%s/sys/dev/block/%u:%u", root, major(number), minor(number));
	n = readlink(link, target, sizeof target - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	name = basename(target);
	return strncmp(name, "vd", 2) == 0 || strncmp(name, "xvd", 3) == 0;
}

void
device_look(const char *root, dev_t number, struct device *device)
{
	uint64_t ahead = number_of(root, number, "read_ahead_kb", UINT64_MAX), request;

	*device = (struct device){ .ahead = USUAL_AHEAD, .call = USUAL_AHEAD };
	if (ahead == UINT64_MAX)
		return;
	device->kind = DEVICE_DISK;
	device->seeks = number_of(root, number, "rotational", 0) == 1 && !is_virtual(root, number);
	device->ahead = ahead << 10;
	request = number_of(root, number, "max_sectors_kb", 0) << 10;
	device->call = request > device->ahead ? request : device->ahead;
}

/* The number of the mount that FD is on, as /proc/self/mountinfo has it; -1: not known. */
static long
mount_of(int fd)
{
	static const char field[] = "mnt_id:";
	char path[48], line[64];
	long number = -1;
	FILE *stream;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	stream = fopen(path, "re");
	while (stream && number < 0 && fgets(line, sizeof line, stream))
		if (strncmp(line, field, sizeof field - 1) == 0)
			number = strtol(line + sizeof field - 1, NULL, 10);
	if (stream)
		fclose(stream);
	return number;
}

/* The disk that a file system without one of its own number (btrfs) is mounted from; 0: none. */
static dev_t
source_of(int fd)
{
	struct mounts mounts;
	struct mounts_entry *mount;
	struct stat status = { 0 };
	long number = mount_of(fd);

	if (number < 0 || mounts_open("", &mounts) < 0)
		return 0;
	while ((mount = mounts_next(&mounts)))
		if (mount->number == number) {
			/* else it is a name of its own kind, not a path from here */
			if (mount->source[0] != '/' || stat(mount->source, &status) < 0 ||
			    !S_ISBLK(status.st_mode))
				status.st_rdev = 0;
			break;
		}
	mounts_close(&mounts);
	return status.st_rdev;
}

static bool
is_remote(int fd)
{
	struct statfs status;

	if (fstatfs(fd, &status) < 0)
		return false;
	switch ((uint32_t)status.f_type) {
	case NFS_MAGIC:
	case CIFS_MAGIC:
	case SMB2_MAGIC:
	case CEPH_MAGIC:
	case LUSTRE_MAGIC:
	case P9_MAGIC:
	case FUSE_MAGIC:
		return true;
	default:
		return false;
	}
}

static void
look_up(int fd, dev_t number, struct device *device)
{
	if (major(number) == 0)
		number = source_of(fd);
	device_look("", number, device);
	if (device->kind == DEVICE_UNKNOWN && is_remote(fd))
		device->kind = DEVICE_NETWORK;
}

struct device
device_of(int fd, const struct stat *status)
{
	static _Thread_local struct {
		dev_t number;
		struct device device;
	} seen[REMEMBERED]; /* a ring */
	static _Thread_local size_t count;
	dev_t number = S_ISBLK(status->st_mode) ? status->st_rdev : status->st_dev;
	size_t at;

	for (size_t i = 0; i < count && i < REMEMBERED; i++)
		if (seen[i].number == number)
			return seen[i].device;
	at = count++ % REMEMBERED;
	seen[at].number = number;
	look_up(fd, number, &seen[at].device);
	return seen[at].device;
}

struct device
device_under(const char *path)
{
	struct device device = { .kind = DEVICE_UNKNOWN };
	int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0)
		device = device_of(fd, &status);
	if (fd >= 0)
		close(fd);
	return device;
}
