/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meminfo.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

/* Reads TEXT as if it were /proc/meminfo. */
static int
read_text(const char *text, struct meminfo *info)
{
	char path[] = "/tmp/hotset-meminfo.XXXXXX";
	int fd = mkstemp(path), result = -2;

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text)) {
		errno = 0;
		result = meminfo_read(path, info);
	}
	close(fd);
	unlink(path);
	return result;
}

/* Linux 6.1 */
static const char recorded[] = "MemTotal:        3994708 kB\n"
			       "MemFree:          182340 kB\n"
			       "MemAvailable:     421888 kB\n"
			       "Buffers:           13552 kB\n"
			       "Cached:           624640 kB\n"
			       "SwapCached:            4 kB\n"
			       "Active:          2316388 kB\n"
			       "Inactive:         434820 kB\n"
			       "Active(anon):    2001552 kB\n"
			       "Inactive(anon):     8728 kB\n"
			       "Active(file):     314836 kB\n"
			       "Inactive(file):   323356 kB\n"
			       "Unevictable:       12584 kB\n"
			       "Mlocked:           11692 kB\n"
			       "SwapTotal:             0 kB\n"
			       "HugePages_Total:       0\n"
			       "DirectMap2M:     3964928 kB\n";

static void
test_recorded(void)
{
	struct meminfo info;

	ok(read_text(recorded, &info) == 0, "a recorded meminfo");
	ok(info.total == 3994708ULL << 10, "MemTotal");
	ok(info.free == 182340ULL << 10, "MemFree");
	ok(info.available == 421888ULL << 10, "MemAvailable");
	ok(info.buffers == 13552ULL << 10, "Buffers");
	ok(info.cached == 624640ULL << 10, "Cached, not SwapCached");
	ok(info.inactive_file == 323356ULL << 10, "Inactive(file), not Inactive");
	ok(info.unevictable == 12584ULL << 10, "Unevictable");
	ok(info.mlocked == 11692ULL << 10, "Mlocked");
}

static void
test_missing(void)
{
	struct meminfo info;

	ok(read_text("MemTotal: 1 kB\nCached: 0 kB\n", &info) == 0, "two fields");
	ok(info.cached == 0, "0 is known");
	ok(info.available == MEMINFO_UNKNOWN, "what is missing is unknown");
	ok(read_text(
	       "MemTotal: 1 kB\nMemFree: -1 kB\nCached: 5 MB\nBuffers: 18446744073709551615 kB\n"
	       "Mlocked: x kB\nUnevictable: kB\n",
	       &info) == 0,
	    "rubbish among them");
	ok(info.free == MEMINFO_UNKNOWN, "a negative number is unknown");
	ok(info.cached == MEMINFO_UNKNOWN, "another unit is unknown");
	ok(info.buffers == MEMINFO_UNKNOWN, "too large a number is unknown");
	ok(info.mlocked == MEMINFO_UNKNOWN, "no number is unknown");
	ok(info.unevictable == MEMINFO_UNKNOWN, "nothing is unknown");
	ok(read_text("HugePages_Total: 0\n", &info) == -1 && errno == EINVAL, "none of our fields");
	ok(read_text("", &info) == -1 && errno == EINVAL, "an empty file");
	ok(meminfo_read("/nonexistent", &info) == -1 && errno == ENOENT, "no file");
	ok(info.total == MEMINFO_UNKNOWN, "then all is unknown");
}

/* Reads TEXT as if it were /proc/zoneinfo. */
static uint64_t
kept_free(const char *text)
{
	char path[] = "/tmp/hotset-zones.XXXXXX";
	int fd = mkstemp(path);
	uint64_t result = 1;

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		result = meminfo_kept_free(path);
	close(fd);
	unlink(path);
	return result;
}

static void
test_zones(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	ok(kept_free(
	       "Node 0, zone      DMA\n  pages free     3840\n        min      13\n"
	       "        high     19\n  pagesets\n    cpu: 0\n              high:  5\n"
	       "              high_min: 8\nNode 0, zone   Normal\n        high     22056\n") ==
		(19 + 22056) * page,
	    "the high watermarks of zones, not of processors");
	ok(kept_free("        high     x\n") == MEMINFO_UNKNOWN, "no number");
	ok(kept_free("        high     -1\n        high     5\n") == MEMINFO_UNKNOWN, "a sign");
	ok(kept_free("        high     18446744073709551614\n        high     5\n") ==
		MEMINFO_UNKNOWN,
	    "a sum that is too large");
	ok(kept_free("        high     9223372036854775807\n") == MEMINFO_UNKNOWN,
	    "too many bytes");
	ok(kept_free("") == MEMINFO_UNKNOWN, "no zone is not 0");
	ok(meminfo_kept_free("/nonexistent") == MEMINFO_UNKNOWN, "no file");
}

int
main(void)
{
	struct meminfo info;
	uint64_t kept = meminfo_kept_free(MEMINFO_ZONES);

	test_recorded();
	test_missing();
	test_zones();
	ok(meminfo_read(MEMINFO_PATH, &info) == 0 && info.total != MEMINFO_UNKNOWN &&
		info.free < info.total,
	    "this machine's own");
	ok(kept != MEMINFO_UNKNOWN && kept < info.total / 4, "and what it keeps free");
	return tap_done();
}
