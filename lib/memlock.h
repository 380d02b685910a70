/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_MEMLOCK_H
#define HOTSET_MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether this process may lock BYTES of memory: by RLIMIT_MEMLOCK, once
 * memlock_raise was called, or by CAP_IPC_LOCK. *LIMIT is the limit in bytes, MEMLOCK_NONE
 * where there is none or it is not known. True also where only the attempt itself can tell.
 */
#define MEMLOCK_NONE UINT64_MAX
bool memlock_allows(uint64_t bytes, uint64_t *limit);

/* Whether it may lock BYTES more than it has by now; true as well where that cannot be told. */
bool memlock_has_room(uint64_t bytes);

/*
 * Raises the soft limit to the hard one where BYTES ask for it. Children inherit that:
 * after the fork of one that is not to.
 */
void memlock_raise(uint64_t bytes);

#endif
