/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "maps.h"
#include "pids.h"
#include "procs.h"
#include "sysabi.h"

#define PATH 48 /* "/proc/PID/comm" */

/* Of the first namespace of processes: the only one that sees them all (include/linux/proc_ns.h). */
#define WHOLE "pid:[4026531836]"

/* A look for COUNT files. */
struct look {
	struct holders *files;
	size_t count;
	pid_t self;
	bool hidden; /* some process is */
};

static void
name_process(struct holders_one *one, pid_t pid)
{
	char path[PATH];
	ssize_t length = 0;
	int fd;

	one->pid = pid;
	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, one->command, sizeof one->command - 1);
		close(fd);
	}
	one->command[length > 0 ? length : 0] = '\0';
	one->command[strcspn(one->command, "\n")] = '\0';
}

/* A process holds the file, once or more: processes are looked at one after the other. */
static void
note(struct holders *file, pid_t pid)
{
	if (file->last == pid)
		return;
	file->last = pid;
	if (file->count < HOLDERS_NAMED)
		name_process(&file->named[file->count], pid);
	file->count++;
}

static void
compare(const struct look *look, const struct stat *status, pid_t pid)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->files[i].device == status->st_dev &&
		    look->files[i].inode == status->st_ino)
			note(&look->files[i], pid);
}

/* Whether errno, of a look at a process, says that it is hidden: others have just ended. */
static bool
is_hidden(void)
{
	return errno != ENOENT && errno != ESRCH;
}

/* Kernel threads have no files. */
static bool
is_process(pid_t pid)
{
	struct procs_one one = { .pid = pid };

	return procs_look("", &one) < 0 ? is_hidden() : !one.kernel && !one.dead;
}

/*
 * Which file NAME is, as fstatat has it. What other processes hold may lie on a server that does
 * not answer (NFS, FUSE): the kernel must not ask it. Without statx (before Linux 4.11, or in a
 * sandbox) it does.
 */
static int
identify(int folder, const char *name, int flags, struct stat *status)
{
	struct sysabi_statx known;

	if (syscall(SYS_statx, folder, name, flags | SYSABI_AT_DONT_SYNC, SYSABI_STATX_INODE,
		&known) < 0) {
		if (errno != ENOSYS && errno != EPERM)
			return -1;
		return fstatat(folder, name, status, flags);
	}
	status->st_dev = makedev(known.major, known.minor);
	status->st_ino = known.inode;
	return 0;
}

static bool
look_at_open(const struct look *look, pid_t pid)
{
	char path[PATH];
	struct dirent *entry;
	struct stat status;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	if (!folder)
		return !is_hidden() || !is_process(pid);
	while ((entry = readdir(folder)))
		if (identify(dirfd(folder), entry->d_name, 0, &status) == 0)
			compare(look, &status, pid);
	closedir(folder);
	return true;
}

static bool
is_asked_for(const struct look *look, uint64_t inode)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->files[i].inode == inode)
			return true;
	return false;
}

/*
 * maps tells the device of the superblock, which on some file systems (btrfs) is not that of
 * stat(2): then what the path leads to decides, if that is the same inode.
 */
static void
compare_mapped(const struct look *look, const struct maps_entry *entry, pid_t pid)
{
	struct stat status = { .st_dev = entry->device, .st_ino = entry->inode };
	char *path = NULL;

	compare(look, &status, pid);
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, entry->path) < 0)
		return;
	if (identify(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) == 0 &&
	    status.st_ino == entry->inode)
		compare(look, &status, pid);
	free(path);
}

static bool
look_at_mapped(const struct look *look, pid_t pid)
{
	struct maps_entry *entry;
	char path[PATH];
	struct maps maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	if (maps_open(&maps, path) < 0)
		return !is_hidden() || !is_process(pid);
	while ((entry = maps_next(&maps)))
		if (is_asked_for(look, entry->inode))
			compare_mapped(look, entry, pid);
	maps_close(&maps);
	return true;
}

static void
look_at(pid_t pid, void *argument)
{
	struct look *look = argument;

	if (pid == look->self)
		return;
	if (!look_at_open(look, pid) || !look_at_mapped(look, pid))
		look->hidden = true;
}

/* Whether /proc lists all processes of the machine: not in a container, nor with hidepid. */
static bool
lists_all(void)
{
	char name[sizeof WHOLE + 1];
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name);

	return length == sizeof WHOLE - 1 && memcmp(name, WHOLE, sizeof WHOLE - 1) == 0 &&
	    access("/proc/1", F_OK) == 0;
}

int
holders_find(struct holders *files, size_t count, bool *complete)
{
	struct look look = { .files = files, .count = count, .self = getpid() };

	for (size_t i = 0; i < count; i++)
		files[i].count = 0;
	if (pids_visit(&(struct pids){ 0 }, look_at, &look) < 0)
		return -1;
	*complete = !look.hidden && lists_all();
	return 0;
}
