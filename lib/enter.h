/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ENTER_H
#define HOTSET_ENTER_H

/*
 * Moves this process, with all its threads, into the memory cgroup CGROUP, as hierarchy_open
 * takes it, which from then on pays for the memory that it takes; what it has already stays
 * where it was. Returns 0, or -1 with errno: ENODATA where that cgroup does not count memory.
 */
int enter_cgroup(const char *cgroup);

/* What ERROR of that means, and what would mend it. */
const char *enter_error(int error);

#endif
