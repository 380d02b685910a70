/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REFRESH_H
#define HOTSET_REFRESH_H

#include "keeper.h"

/*
 * What is opened again. That, and what is read, is done aside (aside.h), since it may hang;
 * meanwhile memory is given back as ever. No more than REFRESH_STEP is read in one go: the rest
 * is for relief_fill.
 */
#define REFRESH_STEP (32ULL << 20)

/* Opens NAME in FOLDER again: what it stands for by now is pinned, if it shall be, and what it
 * stood for before is let go. */
void refresh_name(struct keeper *keeper, uint32_t folder, const char *name);

/* Opens a file that is not held as a whole, and holds up to BYTES more of it; returns how many. */
uint64_t refresh_more(struct keeper *keeper, uint32_t number, uint64_t bytes);

#endif
