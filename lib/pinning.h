/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PINNING_H
#define HOTSET_PINNING_H

#include "keeper.h"

/* Files are loaded, many at a time, and pinned: what keeper_pin does, and for what is new later. */

/* All that is asked for. -1 with errno where nothing can be done. */
int pinning_all(struct keeper *keeper);

/* All below a folder that is new, and of operand OWNER. */
int pinning_folder(struct keeper *keeper, const char *path, uint32_t owner);

/* Sets where a file is pinned, LENGTH bytes of it. */
void
pinning_attach(struct keeper *keeper, uint32_t number, struct share_place place, uint64_t length);

/* Lets go of a file, as far as it is held: it is released, or lost already. */
void pinning_detach(struct keeper *keeper, uint32_t number);

/* Whether the keeper has to look at a file by itself, since nobody tells when it changes. */
bool pinning_looks(const struct keeper *keeper, uint32_t folder, const char *path, bool named,
    nlink_t links);

/* Says why a file is not pinned, unless that was said. */
void pinning_complain(struct keeper *keeper, const char *path, enum pin_failure failure, int error);

#endif
