/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A control group that is frozen while hitratio counts. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

/* A control group that can be frozen. */
struct freezer {
	char mount[1024];
	bool mounted; /* by us */
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

static const struct freezer version_1 = { .control = "freezer.state",
	.freeze = "FROZEN",
	.thaw = "THAWED",
	.state = "freezer.state",
	.frozen = "FROZEN" };
static const struct freezer version_2 = { .control = "cgroup.freeze",
	.freeze = "1",
	.thaw = "0",
	.state = "cgroup.events",
	.frozen = "frozen 1" };

/* Where nobody has mounted any. */
static bool
freezer_mount(struct freezer *freezer, const char *below)
{
	snprintf(freezer->mount, sizeof freezer->mount, "%.900s/truth.%d.groups", below,
	    (int)getpid());
	if (mkdir(freezer->mount, 0700) < 0)
		return false;
	if (mount("none", freezer->mount, "cgroup2", 0, NULL) < 0) {
		rmdir(freezer->mount);
		return false;
	}
	freezer->mounted = true;
	return true;
}

/* Makes a group. */
static bool
freezer_make(struct freezer *freezer, const char *below)
{
	char mounted[1024];

	*freezer = version_2;
	if (find_mount("cgroup2", "", mounted))
		memcpy(freezer->mount, mounted, sizeof mounted);
	else if (find_mount("cgroup", "freezer", mounted)) {
		*freezer = version_1;
		memcpy(freezer->mount, mounted, sizeof mounted);
	} else if (!freezer_mount(freezer, below))
		return false;
	snprintf(freezer->folder, sizeof freezer->folder, "%s/truth.%d", freezer->mount,
	    (int)getpid());
	return mkdir(freezer->folder, 0700) == 0;
}

static void
freezer_remove(struct freezer *freezer)
{
	rmdir(freezer->folder);
	if (freezer->mounted) {
		umount(freezer->mount);
		rmdir(freezer->mount);
	}
}

static bool
freezer_put(const struct freezer *freezer, const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", freezer->folder, name);
	return put_text(path, text);
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

	if (!freezer_make(&freezer, work->folder))
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
	freezer_remove(&freezer);
	if (status != 0)
		broken("the frozen reader has failed");
}

const struct workload frozen_cases[] = {
	CASE_WITH(LOOKED_AT, "frozen in the middle", EXACT | FILLS, COLD, NULL, frozen),
	{ 0 },
};
