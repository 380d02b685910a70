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
#define LOOKOUT_SHARE 50           /* they take no more than such a part of the time */

/* When what is due at NOW, and takes TOOK ns of processor time, is due again. */
uint64_t lookout_after(uint64_t now, uint64_t took);

/* Processor time of this process, in ns: what looks cost, however busy the machine is. */
uint64_t lookout_spent(void);

/* A time of a file in ns, to be compared with that of another look: 0 where it may be changed
 * again without a difference. */
uint64_t lookout_time(const struct timespec *time);

/* The folder called by LENGTH bytes of PATH, which is watched from now on; ROSTER_NONE: ENOMEM. */
uint32_t lookout_folder(struct keeper *keeper, const char *path, size_t length);

/* Whatever is new in a folder that has been walked is operand OWNER's. ROOT: it is itself one.
 * LAST: it is not walked once more; what came into it before it was watched is looked for. */
void lookout_own(struct keeper *keeper, const char *path, uint32_t owner, bool root, bool last);

/* NAME in FOLDER is to be opened again. */
void lookout_changed(struct keeper *keeper, uint32_t folder, const char *name);

/* Everything is to be looked at again. */
void lookout_all(struct keeper *keeper);

/* Hears what has happened, and looks, as far as it is due at NOW. */
void lookout_tend(struct keeper *keeper, uint64_t now);

#endif
