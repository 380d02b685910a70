/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OPENING_H
#define HOTSET_OPENING_H

#include "batch.h"
#include "each.h"

/* How what a walk found, or a list named, is opened for reading: it may have become anything. */

/*
 * Opens ITEM's file, called NAME in its folder: sets fd, but where each->opens says that it need
 * not be open, and status. Returns 1; 0 where it is none
 * of the selected files after all; -1 with errno, with ESPIPE for what is no file or block device
 * and EISDIR for a folder, where it was asked for by its name.
 */
int opening_open(struct batch_item *item, const char *name, const struct each *each);

/* Sets what is selected of FILE, which is open: RANGE, or PARTS, its own, each clipped to it. */
void
opening_set_range(struct each_file *file, struct num_range *parts, const struct num_range *range);

#endif
