/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_IOPRIO_H
#define HOTSET_IOPRIO_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The priority with which this thread reads from disks, and those that it starts from now on,
 * becomes idle: they are served when nobody else wants the disk. Returns 0, or -1 with errno.
 */
int ioprio_idle(void);

/*
 * Whether the disk DEVICE (st_dev of a file on it) is known to take no notice of priorities:
 * then its scheduler's name is in NAME. False too where that cannot be told, as of disks
 * that are made of others.
 */
#define IOPRIO_NAME 32
bool ioprio_ignored(dev_t device, char name[static IOPRIO_NAME]);

#endif
