/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_DESCEND_H
#define HOTSET_DESCEND_H

#include <sys/types.h>

/*
 * Calls VISIT for process PID and for every process that descends from it, as
 * /proc shows them, parents first. Whoever must not miss one that is started meanwhile
 * watches forks before the call. -1 with ESRCH where there is no PID, ENOENT
 * without /proc, EACCES where that hides others' processes from us and PID is no child of ours,
 * or with the errno of VISIT's failure.
 */
int descend(pid_t pid, int (*visit)(pid_t pid, void *argument), void *argument);

#endif
