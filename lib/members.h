/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MEMBERS_H
#define HOTSET_MEMBERS_H

#include <sys/types.h>

/*
 * Calls VISIT for each process in a cgroup and in the cgroups below it, of version 1 or 2. CGROUP
 * is a folder where one is mounted, or its name as in /proc/PID/cgroup, in the hierarchy that
 * counts memory or in that of version 2. A process that moves meanwhile may be visited twice,
 * or not at all. -1 with errno: ENOENT where there is no such cgroup.
 */
int members_visit(const char *cgroup, void (*visit)(pid_t pid, void *argument), void *argument);

#endif
