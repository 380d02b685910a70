/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HEAT_H
#define HOTSET_HEAT_H

#include "frames.h"
#include "ranges.h"
#include "snapshot.h"

/*
 * How much the kernel takes pages in memory for needed, as /proc/kpageflags tells root only.
 * Looking does not change it. Pages that were used a moment ago may wait in a batch of their
 * processor (some 30), and show what they were before.
 */

enum { HEAT_NONE, HEAT_REFERENCED, HEAT_ACTIVE }; /* referenced: used, once as far as it knows */

/* Adds PRESENT, parts of FD that are in memory, with their heat, or SNAPSHOT_NO_HEAT where FRAMES
 * does not know. A part is split where it differs. -1 with ENOMEM. Thread-safe. */
int heat_split(const struct frames *frames, int fd, const struct ranges *present,
    struct snapshot_ranges *ranges);

#endif
