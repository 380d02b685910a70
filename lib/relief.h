/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RELIEF_H
#define HOTSET_RELIEF_H

#include "keeper.h"

/* What others need is given back, and what is not held is pinned, step by step: the one as soon as
 * memory is tight, the other when it is not. */

/* Gives back what is due at NOW: of the last file of the last operand first, and its end before
 * its beginning. */
void relief_tend(struct keeper *keeper, uint64_t now);

/* Nothing more is pinned before memory has not been tight for a while. */
void relief_withhold(struct keeper *keeper);

/* Pins of what is not held, if it may be, the first file of the first operand first, until stop_now
 * is END, or one file is done. Whether there is more that may be pinned now; else sets when it is
 * to be tried again. */
bool relief_fill(struct keeper *keeper, uint64_t end);

#endif
