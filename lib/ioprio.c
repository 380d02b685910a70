/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ioprio.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"
#include "diag.h"
#include "sysabi.h"

#define LOOP_MAJOR 7 /* reads in a thread of the kernel's own, of another priority */
#define NAME       32

int
ioprio_idle(void)
{
	long result = syscall(SYS_ioprio_set, SYSABI_IOPRIO_WHO_PROCESS, 0, SYSABI_IOPRIO_IDLE);

	return result < 0 ? -1 : 0;
}

/*
 * Whether the disk DEVICE is known to take no notice of priorities: then its scheduler's name is
 * in NAME.
 */
static bool
is_ignored(dev_t device, char name[static NAME])
{
	char line[256], *start;
	size_t length;

	if (major(device) == LOOP_MAJOR || !device_says("", device, "scheduler", line, sizeof line))
		return false;
	start = strchr(line, '[');
	if (!start)
		return false; /* no choice: a disk that hands on to those it is made of */
	start++;
	length = strcspn(start, "]");
	if (length >= NAME)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	/* the others that there have been since Linux 5.0: mq-deadline (5.14 on) and bfq */
	return strcmp(name, "none") == 0 || strcmp(name, "kyber") == 0;
}

void
ioprio_explain(char *const paths[], size_t count)
{
	struct stat status;
	char name[NAME];

	for (size_t i = 0; i < count; i++)
		if (stat(paths[i], &status) == 0 &&
		    is_ignored(S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev, name))
			diag_detail("%s: --idle does nothing there: the scheduler of its disk, %s, "
				    "has no priorities",
			    paths[i], name);
}
