/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_LOOKOUT_H
#define HOTSET_LOOKOUT_H

#include <time.h>

#include "keeper.h"

/*
 * Which names of the keeper's folders are to be opened again: what inotify(7) tells, at most ten
 * times a second, and where that is not to be had, or not all, looks every now and then.
 */

#define LOOKOUT_EVERY 400000000ULL /* ns between looks: so that with all else a second is enough */

/* Processor time of this process, in ns: what looks cost, however busy the machine is. */
uint64_t lookout_spent(void);

/* A time in ns, to be compared. */
uint64_t lookout_time(const struct timespec *time);

/* The folder called by LENGTH bytes of PATH, which is watched from now on; ROSTER_NONE: ENOMEM. */
uint32_t lookout_folder(struct keeper *keeper, const char *path, size_t length);

/* Whatever is new in a folder found by the first pass is operand OWNER's. ROOT: it is itself one. */
void lookout_own(struct keeper *keeper, const char *path, uint32_t owner, bool root);

/* The same of one that came later: what came into it before it was watched is looked for. */
void lookout_new_folder(struct keeper *keeper, const char *path, uint32_t owner);

/* NAME in FOLDER is to be opened again. */
void lookout_changed(struct keeper *keeper, uint32_t folder, const char *name);

/* The next such name, to be freed, and its folder; NULL where there is none. */
char *lookout_next(struct keeper *keeper, uint32_t *folder);

/* Everything is to be looked at again. */
void lookout_all(struct keeper *keeper);

/* Hears what has happened, and looks, as far as it is due at NOW. */
void lookout_tend(struct keeper *keeper, uint64_t now);

#endif
