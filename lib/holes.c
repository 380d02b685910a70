/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holes.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "stop.h"

uint64_t
holes_sum(int fd, uint64_t offset, uint64_t length)
{
	uint64_t end = offset + length, sum = 0;
	struct statfs status;

	if (fstatfs(fd, &status) < 0 || (uint32_t)status.f_type != TMPFS_MAGIC)
		return 0;
	while (offset < end && !stop_asked()) {
		off_t data = lseek(fd, (off_t)offset, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO) /* which is: no more of it */
			break;
		if (data < 0 || (uint64_t)data >= end)
			return sum + (end - offset);
		sum += (uint64_t)data - offset;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			break;
		offset = (uint64_t)hole;
	}
	return sum;
}

bool
holes_may_be(const struct stat *status)
{
	/* tmpfs has no device, and a number of which the first part is 0 */
	return major(status->st_dev) == 0;
}

bool
holes_any(int fd, const struct stat *status, uint64_t offset, uint64_t length)
{
	return holes_may_be(status) && holes_sum(fd, offset, length) > 0;
}
