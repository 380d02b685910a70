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
 * is worth, which its bit does not. It must be readable: before 5.18 the kernel looked
 * at each page for that.
 */
static bool
try_reservation(uint64_t bytes)
{
	void *address = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    -1, 0);
	bool allowed;

	if (address == MAP_FAILED)
		return true; /* another limit (RLIMIT_AS): the attempt will tell */
	allowed = mlock2(address, bytes, MLOCK_ONFAULT) == 0 || errno == ENOSYS;
	munmap(address, bytes);
	return allowed;
}

/* Whether the soft limit can be raised for BYTES; it is then. */
static bool
raise_limit(uint64_t bytes, struct rlimit memlock)
{
	memlock.rlim_cur = memlock.rlim_max;
	return is_below(bytes, memlock.rlim_max) && prlimit(0, RLIMIT_MEMLOCK, &memlock, NULL) == 0;
}

void
memlock_raise(uint64_t bytes)
{
	struct rlimit memlock;

	if (prlimit(0, RLIMIT_MEMLOCK, NULL, &memlock) == 0 && !is_below(bytes, memlock.rlim_cur))
		raise_limit(bytes, memlock);
}

bool
memlock_allows(uint64_t bytes, uint64_t *limit)
{
	struct rlimit memlock;

	*limit = MEMLOCK_NONE;
	if (prlimit(0, RLIMIT_MEMLOCK, NULL, &memlock) < 0)
		return true;
	if (!is_below(bytes, memlock.rlim_cur) && raise_limit(bytes, memlock)) {
		rlim_t most = memlock.rlim_max;

		prlimit(0, RLIMIT_MEMLOCK, &memlock, NULL);
		memlock.rlim_cur = most;
	}
	if (memlock.rlim_cur != RLIM_INFINITY)
		*limit = memlock.rlim_cur;
	return is_below(bytes, memlock.rlim_cur) || try_reservation(bytes);
}

bool
memlock_has_room(uint64_t bytes)
{
	struct rlimit memlock;

	return prlimit(0, RLIMIT_MEMLOCK, NULL, &memlock) < 0 ||
	    memlock.rlim_cur == RLIM_INFINITY || try_reservation(bytes);
}
