/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_GRIP_H
#define HOTSET_GRIP_H

#include "keeper.h"

/* What is held of one file of the roster, how that becomes less, and why it is not more. */

/* Sets where a file is pinned, HELD bytes of it. */
void grip_attach(struct keeper *keeper, uint32_t number, struct share_place place, uint64_t held);

/* Lets go of a file, as far as it is held: it is released, or lost already. */
void grip_detach(struct keeper *keeper, uint32_t number);

/* Holds no more than LENGTH bytes of it from now on. */
void grip_shrink(struct keeper *keeper, uint32_t number, uint64_t length);

/* Why a file is not pinned, of FAILURE and errno ERROR. */
const char *grip_why(enum pin_failure failure, int error);
#define GRIP_CROWDED "not pinned: more than is allowed"

/* File NUMBER is not pinned as a whole for now: WHY is said, unless something was. It is tried
 * again, later and later. */
void grip_fail(struct keeper *keeper, uint32_t number, const char *path, const char *why);

#endif
