/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file system that is unmounted while hitratio counts. */
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

static struct {
	int loop; /* of a file system of our own; -1: it is the folder's */
	char device[1024], folder[4096], type[64];
} volume;

/* A loop device for FD; -1 where there is none. */
static int
loop_open(int fd, char device[static 1024])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number, loop;

	number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	if (control >= 0)
		close(control);
	if (number < 0)
		return -1;
	snprintf(device, 1024, "/dev/loop%d", number);
	loop = open(device, O_RDWR | O_CLOEXEC);
	if (loop >= 0 && ioctl(loop, LOOP_SET_FD, fd) < 0) {
		close(loop);
		return -1;
	}
	return loop;
}

static bool
make_file_system(const char *path)
{
	char command[2 * 4096 + 200];

	/* the latter is busybox's */
	snprintf(command, sizeof command,
	    "PATH=$PATH:/usr/sbin:/sbin; mkfs.ext2 -q -F '%s' >/dev/null 2>&1 || "
	    "mkfs.ext2 '%s' >/dev/null 2>&1",
	    path, path);
	return system(command) == 0;
}

/* A file with a file system in it, at PATH; -1 where that cannot be made. */
static int
make_image(const struct work *work, char path[static 4096])
{
	int fd;

	snprintf(path, 4096, "%.4000s.image", work->file.path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4 * work->file.size) < 0)
		broken(path);
	if (make_file_system(path))
		return fd;
	close(fd);
	return -1;
}

/* Mounts a file system of our own. */
static bool
mount_own(struct work *work)
{
	char image[4096];
	int fd = make_image(work, image);

	volume.loop = fd < 0 ? -1 : loop_open(fd, volume.device);
	unlink(image); /* the device holds it */
	close(fd);
	if (volume.loop < 0)
		return false;
	snprintf(volume.folder, sizeof volume.folder, "%.4000s.mount", work->file.path);
	if (mkdir(volume.folder, 0700) < 0)
		broken(volume.folder);
	snprintf(volume.type, sizeof volume.type, "ext2");
	if (mount(volume.device, volume.folder, volume.type, 0, NULL) == 0 ||
	    mount(volume.device, volume.folder, "ext4", 0, NULL) == 0)
		return true;
	rmdir(volume.folder);
	return false;
}

/* Takes the folder's, where it is that of a file system. */
static bool
take_mounted(const struct work *work)
{
	FILE *mounts = fopen("/proc/self/mounts", "r");
	char line[8192];
	bool found = false;

	volume.loop = -1;
	while (mounts && !found && fgets(line, sizeof line, mounts))
		found = sscanf(line, "%1023s %4095s %63s", volume.device, volume.folder,
			    volume.type) == 3 &&
		    strcmp(volume.folder, work->folder) == 0;
	if (mounts)
		fclose(mounts);
	/* a loop device may be gone with its file system */
	return found && strncmp(volume.device, "/dev/loop", 9) != 0 &&
	    strncmp(volume.device, "/dev/", 5) == 0;
}

static void
make_volume(struct work *work)
{
	struct file *file;
	char path[4096];

	if (!mount_own(work) && !take_mounted(work))
		skip(work, "no mkfs.ext2 or loop device, and the folder is no file system");
	snprintf(path, sizeof path, "%.4000s/truth.volume", volume.folder);
	file = add_others(work, 1);
	file_make(file, path, (off_t)(work->pages * PAGE));
	file_set(file, MIXED);
}

static void
unmount_own(void)
{
	if (umount(volume.folder) < 0)
		broken("umount");
	rmdir(volume.folder);
	ioctl(volume.loop, LOOP_CLR_FD, 0);
	close(volume.loop);
}

/* And mounts it anew. */
static void
unmount_folder(struct work *work)
{
	close(work->file.fd);
	if (umount(volume.folder) < 0)
		skip(work, "the folder's file system is in use");
	if (mount(volume.device, volume.folder, volume.type, 0, NULL) < 0)
		broken("mount");
	unlink(work->others[0].path);
	work->file.fd = open(work->file.path, O_RDONLY | O_CLOEXEC);
}

/* Part of what readahead brought in is still pending as the file system goes. */
static void
unmounted(struct work *work)
{
	struct file *file = &work->others[0];

	for (off_t at = 0; at < file->size; at += 64 * (off_t)PAGE)
		read_at(work, file, 3 * PAGE, at);
	close(file->fd);
	if (volume.loop >= 0)
		unmount_own();
	else
		unmount_folder(work);
	work->other_count = 0; /* it is gone */
}

const struct workload unmounted_cases[] = {
	CASE_WITH(RECLAIM, "a file system that is unmounted", EXACT, COLD, make_volume, unmounted),
	{ 0 },
};
