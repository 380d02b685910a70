/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may befall a system while hitratio counts. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

static bool
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* A control group that can be frozen. */
struct freezer {
	char folder[2048];
	const char *control, *freeze, *thaw;
	const char *state, *frozen; /* a file, and what is in it then */
};

/* The folder where the kernel's groups of TYPE, with OPTION, are mounted. */
static bool
find_mount(const char *type, const char *option, char folder[static 1024])
{
	FILE *mounts = fopen("/proc/self/mounts", "r");
	char this_type[64], options[512], line[4096];
	bool found = false;

	while (mounts && !found && fgets(line, sizeof line, mounts))
		found = sscanf(line, "%*s %1023s %63s %511s", folder, this_type, options) == 3 &&
		    strcmp(this_type, type) == 0 && strstr(options, option);
	if (mounts)
		fclose(mounts);
	return found;
}

/* Makes a group, of version 2 or 1. */
static bool
freezer_make(struct freezer *freezer)
{
	char mount[1024];

	if (find_mount("cgroup2", "", mount))
		*freezer = (struct freezer){ .control = "cgroup.freeze",
			.freeze = "1",
			.thaw = "0",
			.state = "cgroup.events",
			.frozen = "frozen 1" };
	else if (find_mount("cgroup", "freezer", mount))
		*freezer = (struct freezer){ .control = "freezer.state",
			.freeze = "FROZEN",
			.thaw = "THAWED",
			.state = "freezer.state",
			.frozen = "FROZEN" };
	else
		return false;
	snprintf(freezer->folder, sizeof freezer->folder, "%s/truth.%d", mount, (int)getpid());
	return mkdir(freezer->folder, 0700) == 0;
}

static bool
freezer_put(const struct freezer *freezer, const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", freezer->folder, name);
	return put(path, text);
}

static bool
freezer_is_frozen(const struct freezer *freezer)
{
	char path[4096], text[256] = "";
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", freezer->folder, freezer->state);
	stream = fopen(path, "r");
	if (!stream)
		return false;
	text[fread(text, 1, sizeof text - 1, stream)] = '\0';
	fclose(stream);
	return strstr(text, freezer->frozen);
}

/* Three times, of which the first is cold; tells when it is in the middle of the first. */
static _Noreturn void
read_and_tell(struct work *work, int told)
{
	for (int pass = 0; pass < 3; pass++)
		for (off_t at = 0; at < work->file.size; at += 16 * (off_t)PAGE) {
			read_at(work, &work->file, 16 * PAGE, at);
			if (pass == 0 && at == work->file.size / 2 && write(told, "", 1) != 1)
				_exit(1);
		}
	_exit(0);
}

static void
freeze_for_a_while(const struct freezer *freezer)
{
	int tries = 0;

	if (!freezer_put(freezer, freezer->control, freezer->freeze))
		broken("freeze");
	while (!freezer_is_frozen(freezer) && tries++ < 500)
		usleep(10000);
	usleep(100000);
	if (!freezer_put(freezer, freezer->control, freezer->thaw) || tries >= 500)
		broken("thaw");
}

/* A reader that is frozen in the middle, and looked at meanwhile, loses nothing. */
static void
frozen(struct work *work)
{
	struct freezer freezer;
	char number[16];
	int told[2], status;
	pid_t child;

	if (!freezer_make(&freezer))
		skip(work, "no control groups that can be frozen");
	if (pipe(told) < 0)
		broken("pipe");
	child = fork();
	if (child == 0)
		read_and_tell(work, told[1]);
	snprintf(number, sizeof number, "%d", (int)child);
	if (!freezer_put(&freezer, "cgroup.procs", number) || read(told[0], number, 1) != 1)
		broken("cgroup");
	freeze_for_a_while(&freezer);
	waitpid(child, &status, 0);
	rmdir(freezer.folder);
	if (status != 0)
		broken("the frozen reader has failed");
}

/* A file system of our own, in the case's file by way of a loop device. */
struct volume {
	int loop; /* the device */
	char device[64], folder[4096];
};

/* A loop device for FD; -1 where there is none. */
static int
loop_open(int fd, char device[static 64])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number, loop;

	number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	if (control >= 0)
		close(control);
	if (number < 0)
		return -1;
	snprintf(device, 64, "/dev/loop%d", number);
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

static struct volume volume;

/* A file with a file system in it, already without a name. */
static int
make_image(struct work *work)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%.4000s.image", work->file.path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4 * work->file.size) < 0)
		broken(path);
	if (!make_file_system(path)) {
		unlink(path);
		skip(work, "no mkfs.ext2");
	}
	unlink(path);
	return fd;
}

static void
make_volume(struct work *work)
{
	struct file *file;
	char path[4096];

	volume.loop = loop_open(make_image(work), volume.device);
	if (volume.loop < 0)
		skip(work, "no loop device");
	snprintf(volume.folder, sizeof volume.folder, "%.4000s.mount", work->file.path);
	if (mkdir(volume.folder, 0700) < 0)
		broken(volume.folder);
	if (mount(volume.device, volume.folder, "ext2", 0, NULL) < 0 &&
	    mount(volume.device, volume.folder, "ext4", 0, NULL) < 0) {
		rmdir(volume.folder);
		skip(work, "an ext2 file system cannot be mounted");
	}
	snprintf(path, sizeof path, "%.4000s/file", volume.folder);
	file = add_others(work, 1);
	file_make(file, path, (off_t)(work->pages * PAGE));
	file_set(file, MIXED);
}

/* Part of what readahead brought in is still pending as the file system goes. */
static void
unmounted(struct work *work)
{
	struct file *file = &work->others[0];

	for (off_t at = 0; at < file->size; at += 64 * (off_t)PAGE)
		read_at(work, file, 3 * PAGE, at);
	close(file->fd);
	if (umount(volume.folder) < 0)
		broken("umount");
	rmdir(volume.folder);
	ioctl(volume.loop, LOOP_CLR_FD, 0);
	close(volume.loop);
	work->other_count = 0; /* it is gone */
}

/* A processor goes and comes while a child reads, on it first. */
static void
processor_off(struct work *work)
{
	const char *online = "/sys/devices/system/cpu/cpu1/online";
	pid_t child;
	int status;

	if (!put(online, "0"))
		skip(work, "no processor that can be taken off line");
	put(online, "1");
	child = fork();
	if (child == 0) {
		for (int pass = 0; pass < 20; pass++)
			read_sequential(work, 16 * PAGE);
		_exit(0);
	}
	for (int i = 0; i < 5; i++) {
		if (!put(online, "0"))
			broken("processor");
		usleep(20000);
		if (!put(online, "1"))
			broken("processor");
		usleep(20000);
	}
	waitpid(child, &status, 0);
	if (status != 0)
		broken("the reader has failed");
}

const struct workload system_cases[] = {
	CASE_WITH(LOOKED_AT, "frozen in the middle", EXACT | FILLS, COLD, NULL, frozen),
	CASE_WITH(RECLAIM, "a file system that is unmounted", EXACT, COLD, make_volume, unmounted),
	/* it disturbs everybody on the machine */
	CASE_WITH(NAMED_ONLY, "a processor that goes off line", EXACT | FILLS, COLD, NULL,
	    processor_off),
	{ 0 },
};
