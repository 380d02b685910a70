/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "openfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "diag.h"
#include "folder.h"
#include "maps.h"
#include "num.h"
#include "procs.h"

#define LINK_SIZE 64 /* "/proc/PID/map_files/FROM-TO" */

/* A look at the processes of one group. */
struct look {
	struct openfiles *openfiles;
	struct each_run *to;
	struct openfiles_hidden *hidden;
	pid_t skip;
};

enum outcome { LOOKED, DENIED, MISSING };

/* What the errno of a system call that was about PATH means; others are reported. */
static enum outcome
outcome_of(const struct look *look, const char *path)
{
	if (errno == EACCES || errno == EPERM)
		return DENIED;
	if (errno == ENOENT || errno == ESRCH)
		return MISSING;
	each_failed(look->to, path, errno);
	return LOOKED;
}

/* The name of the file FD as the kernel tells it; false where that is too long for it. */
static bool
name_of(int fd, char name[static PATH_MAX + 1])
{
	char link[LINK_SIZE];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, name, PATH_MAX);
	if (length < 0)
		return false;
	name[length] = '\0';
	return true;
}

/* Whether to pass on the file FD, found at LINK, and its name. */
static bool
is_wanted(const struct openfiles *openfiles, int fd, const char *link, const struct stat *status,
    char name[static PATH_MAX + 1])
{
	const char *slash;

	if (!S_ISREG(status->st_mode) || folder_is_pseudo(fd))
		return false;
	if (!name_of(fd, name))
		strcpy(name, link);
	slash = strrchr(name, '/');
	return select_admits(openfiles->select, name, slash ? slash + 1 : name);
}

/* Passes on the file FD, found at LINK, where it is one and is new; FD is closed later. */
static void
take(const struct look *look, int fd, const char *link)
{
	struct links *seen = &look->openfiles->seen;
	char name[PATH_MAX + 1];
	struct stat status;

	if (fstat(fd, &status) < 0)
		outcome_of(look, link);
	else if (links_has(seen, status.st_dev, status.st_ino))
		look->hidden->repeated = true;
	else if (is_wanted(look->openfiles, fd, link, &status, name)) {
		if (links_add(seen, status.st_dev, status.st_ino) > 0) {
			each_found(look->to, name, fd);
			return;
		}
		each_failed(look->to, name, ENOMEM);
	}
	close(fd);
}

static enum outcome
follow(const struct look *look, const char *link)
{
	int fd = open(link, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return outcome_of(look, link);
	take(look, fd, link);
	return LOOKED;
}

/* The next entry; NULL at the end, with errno where it is not the end. */
static const char *
next_of(DIR *folder)
{
	struct dirent *entry;

	errno = 0;
	do
		entry = readdir(folder);
	while (entry && entry->d_name[0] == '.');
	return entry ? entry->d_name : NULL;
}

/* Follows each link in the folder NAME of a process. */
static enum outcome
follow_all(const struct look *look, pid_t pid, const char *name)
{
	char path[LINK_SIZE], link[LINK_SIZE + NAME_MAX + 1];
	enum outcome outcome = LOOKED;
	const char *entry = "";
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	folder = opendir(path);
	if (!folder)
		return outcome_of(look, path);
	while (outcome != DENIED && each_go_on(look->to) && (entry = next_of(folder))) {
		snprintf(link, sizeof link, "%s/%s", path, entry);
		outcome = follow(look, link);
	}
	if (!entry)
		outcome = errno ? outcome_of(look, path) : LOOKED;
	closedir(folder);
	return outcome;
}

/*
 * The mapped file at PATH, if it is that: -1 where another one is there by now. The inode must
 * do: maps tells the device of the superblock, stat(2) that of a subvolume on btrfs or of a
 * layer on overlayfs.
 */
static int
open_if_mapped(const char *path, const struct maps_entry *entry)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) < 0 || status.st_ino != entry->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* By its path from the root of process PID, which may be in another mount namespace, or, as
 * that may be a chroot within ours, from our own. */
static int
open_by_path(pid_t pid, const struct maps_entry *entry)
{
	char *path = NULL;
	int fd;

	if (asprintf(&path, "/proc/%d/root%s", (int)pid, entry->path) < 0)
		return -1;
	fd = open_if_mapped(path, entry);
	free(path);
	return fd < 0 ? open_if_mapped(entry->path, entry) : fd;
}

static void
take_mapped(const struct look *look, pid_t pid, const char *maps, struct maps_entry *entry)
{
	struct openfiles *openfiles = look->openfiles;
	bool repeated = links_has(&openfiles->seen, entry->device, entry->inode);
	int fd;

	look->hidden->repeated |= repeated;
	if (repeated || links_has(&openfiles->beyond, entry->device, entry->inode))
		return;
	fd = open_by_path(pid, entry);
	if (fd < 0 && maps_unescape(entry->path))
		fd = open_by_path(pid, entry);
	if (fd >= 0)
		take(look, fd, maps);
	else if (links_add(&openfiles->beyond, entry->device, entry->inode) > 0)
		look->hidden->files++;
}

/* Mapped files by the paths of /proc/PID/maps. */
static enum outcome
look_at_maps(const struct look *look, pid_t pid)
{
	struct maps_entry *entry;
	char path[LINK_SIZE];
	struct maps maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	if (maps_open(&maps, path) < 0)
		return outcome_of(look, path);
	while (each_go_on(look->to) && (entry = maps_next(&maps)))
		take_mapped(look, pid, path, entry);
	maps_close(&maps);
	return LOOKED;
}

/* Kernel threads have no files, and those who have ended neither. */
static bool
has_files(pid_t pid)
{
	struct procs_one one = { .pid = pid };

	if (procs_look("", &one) < 0)
		return errno != ENOENT && errno != ESRCH;
	return !one.kernel && !one.dead;
}

static void
look_at_process(const struct look *look, pid_t pid)
{
	enum outcome outcome = follow_all(look, pid, "fd");
	char exe[LINK_SIZE];

	if (outcome == LOOKED) {
		snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
		follow(look, exe);
		/* takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and Linux 3.3 */
		if (follow_all(look, pid, "map_files") != LOOKED)
			outcome = look_at_maps(look, pid);
	}
	if (outcome == DENIED && has_files(pid))
		look->hidden->processes++;
}

/* Whether two threads have different tables of open files; false where we cannot tell. */
static bool
differ(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0) > 0;
}

/* A process, and those of its threads that are like one of their own: that have unshared
 * their files, or have outlived the first thread. */
static void
look_at(pid_t pid, void *argument)
{
	const struct look *look = argument;
	char path[LINK_SIZE];
	const char *entry;
	uint64_t thread;
	DIR *threads;

	if (pid == look->skip || !each_go_on(look->to))
		return;
	look->hidden->of++;
	look_at_process(look, pid);
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = next_of(threads)))
		if (num_count(entry, &thread) == 0 && differ(pid, (pid_t)thread))
			look_at_process(look, (pid_t)thread);
	if (threads)
		closedir(threads);
}

void
openfiles_find(struct openfiles *openfiles, size_t number, struct each_run *to)
{
	const struct pids *group = &openfiles->groups[number];
	struct look look = {
		.openfiles = openfiles,
		.to = to,
		.hidden = &openfiles->hidden[number],
		/* we would not be there but for the question */
		.skip = group->pid ? 0 : openfiles->self,
	};

	if (pids_visit(group, look_at, &look) < 0)
		each_failed(to, group->name, errno);
}

int
openfiles_begin(struct openfiles *openfiles, const struct pids_options *options,
    const struct select *select)
{
	char self[16] = "";

	if (readlink("/proc/self", self, sizeof self - 1) < 0)
		return -1;
	*openfiles = (struct openfiles){ .select = select };
	opts_pid(&openfiles->self, self);
	openfiles->groups = pids_choose(options, &openfiles->count);
	openfiles->names = calloc(openfiles->count + 1, sizeof *openfiles->names);
	openfiles->hidden = calloc(openfiles->count + 1, sizeof *openfiles->hidden);
	if (!openfiles->groups || !openfiles->names || !openfiles->hidden) {
		openfiles_end(openfiles);
		errno = ENOMEM;
		return -1;
	}
	for (size_t i = 0; i < openfiles->count; i++)
		openfiles->names[i] = openfiles->groups[i].name;
	return 0;
}

void
openfiles_explain(const struct openfiles *openfiles, size_t number)
{
	const struct pids *group = &openfiles->groups[number];
	const struct openfiles_hidden *hidden = &openfiles->hidden[number];
	unsigned long long processes = hidden->processes, files = hidden->files;

	if (processes && group->pid)
		diag_error("cannot look at the open files of process %d: %s (root, or "
			   "CAP_SYS_PTRACE)",
		    (int)group->pid, strerror(EACCES));
	else if (processes)
		diag_error("%s: cannot look at the open files of %llu of %llu processes: %s "
			   "(root, or CAP_SYS_PTRACE)",
		    group->name, processes, (unsigned long long)hidden->of, strerror(EACCES));
	if (files)
		diag_error("%s: %llu of the mapped files cannot be reached by name: %s (root, or "
			   "CAP_CHECKPOINT_RESTORE)",
		    group->name, files, strerror(EACCES));
}

void
openfiles_end(struct openfiles *openfiles)
{
	if (openfiles->groups)
		pids_free(openfiles->groups, openfiles->count);
	free(openfiles->names);
	free(openfiles->hidden);
	links_free(&openfiles->seen);
	links_free(&openfiles->beyond);
	*openfiles = (struct openfiles){ 0 };
}
