/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extent.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

uint64_t
extent_first(int fd)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent;
	} ask = { .map = { .fm_length = FIEMAP_MAX_OFFSET, .fm_extent_count = 1 } };

	if (ioctl(fd, FS_IOC_FIEMAP, &ask) < 0 || ask.map.fm_mapped_extents == 0)
		return UINT64_MAX;
	return ask.extent.fe_physical;
}
