/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PINNING_H
#define HOTSET_PINNING_H

#include "keeper.h"

/* Files are loaded, many at a time, and pinned: what keeper_pin does, and for what is new later. */

#define PINNING_WORKERS 8 /* more than processors: they wait for the disk */

/* All that is asked for. -1 with errno where nothing can be done. */
int pinning_all(struct keeper *keeper);

/* All below a folder that is new, and of operand OWNER. */
int pinning_folder(struct keeper *keeper, const char *path, uint32_t owner);

/* A name, the last part of PATH, that could not be opened and is tried again, unless it is known:
 * its number; ROSTER_NONE with ENOMEM, or where it is no name. */
uint32_t pinning_enroll(struct keeper *keeper, const char *path, uint32_t owner, bool named);

/* Whether the keeper has to look at a file by itself, since nobody tells when it changes. */
bool pinning_looks(const struct keeper *keeper, uint32_t folder, const char *path, bool named,
    nlink_t links);

#endif
