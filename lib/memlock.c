/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

static bool
is_below(uint64_t bytes, rlim_t limit)
{
	return limit == RLIM_INFINITY || bytes <= limit;
}

/*
 * The kernel charges MLOCK_ONFAULT (Linux 4.4) in full and at once, but it brings
 * nothing in: a reservation of that size tells what a capability in a user namespace
 * is worth, which its bit does not.
 */
static bool
try_reservation(uint64_t bytes)
{
	void *address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    -1, 0);
	bool allowed;

	if (address == MAP_FAILED)
		return false;
	allowed = mlock2(address, bytes, MLOCK_ONFAULT) == 0 || errno == ENOSYS;
	munmap(address, bytes);
	return allowed;
}

bool
memlock_allows(uint64_t bytes, uint64_t *limit)
{
	struct rlimit memlock;

	if (prlimit(0, RLIMIT_MEMLOCK, NULL, &memlock) < 0 || is_below(bytes, memlock.rlim_cur))
		return true;
	if (is_below(bytes, memlock.rlim_max)) {
		memlock.rlim_cur = memlock.rlim_max;
		if (prlimit(0, RLIMIT_MEMLOCK, &memlock, NULL) == 0)
			return true;
	}
	*limit = memlock.rlim_cur;
	return try_reservation(bytes);
}
