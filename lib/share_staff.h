/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARE_STAFF_H
#define HOTSET_SHARE_STAFF_H

#include <stdbool.h>

#include "share.h"

/* The workers as processes: how they begin and end. What becomes of the shares that they had is
 * also here. */

/* One more share, of nobody yet, at the end of the list; NULL with ENOMEM. */
struct share *share_new(struct shares *shares);

/* Ends the worker of SHARE, if any: it may hang in the kernel, and is not waited for. */
void share_end_worker(struct shares *shares, struct share *share);

/* Whether some that were to end have not yet. */
bool share_any_ending(struct shares *shares);

#endif
