/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_IOPRIO_H
#define HOTSET_IOPRIO_H

#include <stddef.h>

/*
 * The priority with which this thread reads from disks, and those that it starts from now on,
 * becomes idle: they are served when nobody else wants the disk. Returns 0, or -1 with errno.
 */
int ioprio_idle(void);

/*
 * Says, where details are wanted, which of COUNT paths lie on a disk that takes no notice of
 * priorities, as far as that is known: not of disks that are made of others.
 */
void ioprio_explain(char *const paths[], size_t count);

#endif
