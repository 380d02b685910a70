/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REFRESH_H
#define HOTSET_REFRESH_H

#include "keeper.h"

/* Opens NAME in FOLDER again: what it stands for by now is pinned, if it shall be, and what it
 * stood for before is let go. */
void refresh_name(struct keeper *keeper, uint32_t folder, const char *name);

/* Gives back BYTES of what is pinned, the last file of the last operand first, and its end
 * before its beginning. */
void refresh_release(struct keeper *keeper, uint64_t bytes);

/* Pins up to BYTES of what is not, the first file of the first operand first; false where nothing
 * is left to be pinned. */
bool refresh_repin(struct keeper *keeper, uint64_t bytes);

#endif
