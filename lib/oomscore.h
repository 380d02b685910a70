/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_OOMSCORE_H
#define HOTSET_OOMSCORE_H

/* When memory runs out, this process is to be killed first, and all that it starts from now on. */
#define OOMSCORE_PATH "/proc/self/oom_score_adj"
int oomscore_volunteer(void);

#endif
