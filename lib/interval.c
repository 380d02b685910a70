/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interval.h"

#include <time.h>

#include "meminfo.h"
#include "stop.h"

#define NSEC  1000000000ULL
#define CLOCK sizeof "23:59:59"

enum field {
	F_TIME,
	F_INTERVAL,
	F_ACCESSES,
	F_HITS,
	F_MISSES,
	F_RATIO,
	F_FAULTS,
	F_FAULT_MISSES,
	F_MAPPED,
	F_STALLS,
	F_FILLS,
	F_WASTE,
	F_PENDING,
	F_LOST,
	F_DIRTIES,
	F_BUFFERS,
	F_CACHED,
	F_TIER,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_TIME] = { "time", OUT_TIME, NULL, false, "end of the interval, seconds since 1970" },
	[F_INTERVAL] = { "interval_s", OUT_SECONDS, "hitratio_interval_seconds", false,
	    "length of the interval" },
	[F_ACCESSES] = { "accesses", OUT_COUNT, "hitratio_accesses", true,
	    "pages that buffered reads overlapped" },
	[F_HITS] = { "hits", OUT_COUNT, "hitratio_hits", true,
	    "of these, pages that were in memory" },
	[F_MISSES] = { "misses", OUT_COUNT, "hitratio_misses", true,
	    "of these, pages that a read or its readahead had to bring in" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "hitratio_ratio", false,
	    "hits / accesses; none without access" },
	[F_FAULTS] = { "faults", OUT_COUNT, "hitratio_faults", true,
	    "page faults on mapped files" },
	[F_FAULT_MISSES] = { "fault_misses", OUT_COUNT, "hitratio_fault_misses", true,
	    "of these, first accesses to a page brought in" },
	[F_MAPPED] = { "mapped", OUT_COUNT, "hitratio_mapped", true,
	    "pages brought in and mapped around a fault" },
	[F_STALLS] = { "stalls", OUT_COUNT, "hitratio_stalls", true,
	    "accesses that found the page absent (not counted yet)" },
	[F_FILLS] = { "fills", OUT_COUNT, "hitratio_fills", true,
	    "pages brought in for reads, faults and readahead" },
	[F_WASTE] = { "waste", OUT_COUNT, "hitratio_waste", true,
	    "pages brought in, then evicted without an access" },
	[F_PENDING] = { "pending", OUT_COUNT, "hitratio_pending", false,
	    "pages brought in and not accessed yet" },
	[F_LOST] = { "lost", OUT_COUNT, "hitratio_lost", true,
	    "pages brought in that could not be noted: misses may be missing" },
	[F_DIRTIES] = { "dirties", OUT_COUNT, "hitratio_dirties", true,
	    "pages that went from clean to dirty" },
	[F_BUFFERS] = { "buffers_bytes", OUT_BYTES, "hitratio_buffers_bytes", false,
	    "page cache of block devices" },
	[F_CACHED] = { "cached_bytes", OUT_BYTES, "hitratio_cached_bytes", false,
	    "page cache of files, and shared memory" },
	[F_TIER] = { "tier", OUT_STRING, "tier", false, "how it was counted" },
};

/* As cachestat prints them, so that scripts for it find their fields. */
static const struct out_column columns[] = {
	{ F_TIME, "TIME", -8, false },
	{ F_HITS, "HITS", 8, false },
	{ F_MISSES, "MISSES", 8, false },
	{ F_DIRTIES, "DIRTIES", 8, false },
	{ F_RATIO, "HITRATIO", 8, false },
	{ F_BUFFERS, "BUFFERS_MB", 12, true },
	{ F_CACHED, "CACHED_MB", 10, true },
	{ 0 },
};

const struct out_table interval_table = { fields, FIELDS, columns + 1 };
const struct out_table interval_table_timed = { fields, FIELDS, columns };

int
interval_moment(struct probe *probe, enum scope scope, struct moment *moment)
{
	struct counters all;

	moment->at = stop_now();
	if (probe_settle(probe) < 0 || probe_sums(probe, scope, &moment->sums) < 0 ||
	    probe_sums(probe, SCOPE_ALL, &all) < 0)
		return -1;
	moment->waste = all.of[WASTE];
	moment->lost = all.of[LOST];
	moment->pending = probe_pending(probe);
	return 0;
}

static struct out_value
meminfo_value(uint64_t bytes)
{
	return bytes == MEMINFO_UNKNOWN ? out_unknown : out_number(bytes);
}

static void
set_sums(struct out_value *values, const struct moment *from, const struct moment *to)
{
	uint64_t hits = to->sums.of[HITS] - from->sums.of[HITS];
	uint64_t misses = to->sums.of[MISSES] - from->sums.of[MISSES];

	values[F_INTERVAL] = out_real((double)(to->at - from->at) / NSEC);
	values[F_ACCESSES] = out_number(hits + misses);
	values[F_HITS] = out_number(hits);
	values[F_MISSES] = out_number(misses);
	values[F_RATIO] = out_percent(hits, hits + misses);
	values[F_FAULTS] = out_number(to->sums.of[FAULTS] - from->sums.of[FAULTS]);
	values[F_FAULT_MISSES] = out_number(
	    to->sums.of[FAULT_MISSES] - from->sums.of[FAULT_MISSES]);
	values[F_MAPPED] = out_number(to->sums.of[MAPPED] - from->sums.of[MAPPED]);
	values[F_FILLS] = out_number(to->sums.of[FILLS] - from->sums.of[FILLS]);
	values[F_WASTE] = out_number(to->waste - from->waste);
	values[F_LOST] = out_number(to->lost - from->lost);
	values[F_DIRTIES] = out_number(to->sums.of[DIRTIES] - from->sums.of[DIRTIES]);
}

/* Now; SHOWN gets the local time of day. */
static struct out_value
time_value(char shown[static CLOCK])
{
	struct out_value value;
	struct timespec now;
	struct tm local;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	strftime(shown, CLOCK, "%H:%M:%S", &local);
	value = out_real((double)now.tv_sec + (double)now.tv_nsec / NSEC);
	value.shown = shown;
	return value;
}

int
interval_row(struct out *out, const struct moment *from, const struct moment *to, const char *tier)
{
	struct out_value values[FIELDS] = { 0 };
	struct meminfo memory;
	char shown[CLOCK];

	set_sums(values, from, to);
	values[F_TIME] = time_value(shown);
	values[F_PENDING] = out_number(to->pending);
	if (meminfo_read(MEMINFO_PATH, &memory) == 0) {
		values[F_BUFFERS] = meminfo_value(memory.buffers);
		values[F_CACHED] = meminfo_value(memory.cached);
	}
	values[F_TIER] = out_string(tier);
	return out_row(out, values);
}
