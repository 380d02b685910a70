/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WORKERS_H
#define HOTSET_WORKERS_H

/* How many threads are best to load files from what PATH lies on; NULL: nobody knows where. */
unsigned workers_for(const char *path);

#endif
