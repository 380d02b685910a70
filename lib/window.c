/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "window.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "num.h"

/* What every kernel reads at least: the default of read_ahead_kb. Also for file
 * systems whose st_dev is not the device's (btrfs) or that have none (overlay). */
#define FALLBACK (128ULL << 10)

/* Below this, looking for the figure costs more than it gives. */
#define WORTHWHILE (1ULL << 20)

/* Before 4.4 it was 2 MiB, whatever the device. */
#define LARGEST (2ULL << 20)

uint64_t
window_size(dev_t device, uint64_t length)
{
	char path[64], line[32] = "";
	uint64_t bytes;
	FILE *stream;

	if (length < WORTHWHILE)
		return FALLBACK;
	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
	    minor(device));
	stream = fopen(path, "re");
	if (!stream)
		return FALLBACK;
	if (!fgets(line, sizeof line, stream))
		line[0] = '\0';
	fclose(stream);
	line[strcspn(line, "\n")] = '\0';
	if (num_count(line, &bytes) < 0)
		return FALLBACK;
	if (bytes > LARGEST >> 10)
		return LARGEST;
	return bytes << 10 < FALLBACK ? FALLBACK : bytes << 10;
}
