/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ioprio.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysabi.h"

#define LOOP_MAJOR 7 /* reads in a thread of the kernel's own, of another priority */

int
ioprio_idle(void)
{
	long result = syscall(SYS_ioprio_set, SYSABI_IOPRIO_WHO_PROCESS, 0, SYSABI_IOPRIO_IDLE);

	return result < 0 ? -1 : 0;
}

/* The line of schedulers, of which the one in use is in brackets, of a disk, which is the device
 * itself or, of a partition, ABOVE it; false: there is none. */
static bool
read_schedulers(dev_t device, const char *above, char *line, int size)
{
	char path[80];
	FILE *stream;
	bool found;

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%squeue/scheduler", major(device),
	    minor(device), above);
	stream = fopen(path, "re");
	found = stream && fgets(line, size, stream);
	if (stream)
		fclose(stream);
	return found;
}

bool
ioprio_ignored(dev_t device, char name[static IOPRIO_NAME])
{
	char line[256], *start;
	size_t length;

	if (major(device) == LOOP_MAJOR ||
	    (!read_schedulers(device, "", line, sizeof line) &&
		!read_schedulers(device, "../", line, sizeof line)))
		return false;
	start = strchr(line, '[');
	if (!start)
		return false; /* no choice: a disk that hands on to those it is made of */
	start++;
	length = strcspn(start, "]");
	if (length >= IOPRIO_NAME)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	/* the others that there have been since Linux 5.0: mq-deadline (5.14 on) and bfq */
	return strcmp(name, "none") == 0 || strcmp(name, "kyber") == 0;
}
