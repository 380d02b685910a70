/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interval.h"

#include <time.h>
#include <unistd.h>

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
	F_PID,
	F_COMMAND,
	EXACT_FIELDS,
	F_ACCESSES_EST = EXACT_FIELDS,
	F_HITS_EST,
	F_MISSES_EST,
	F_RATIO_EST,
	F_FAULT_MISSES_EST,
	F_DIRTIES_EST,
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
	    "accesses that found the page absent: somebody waited" },
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
	[F_TIER] = { "tier", OUT_STRING, "tier", false,
	    "how it was counted: full, kprobe, tracepoint; proc: an estimate" },
	/* as labels, they keep apart what several runs count on one machine */
	[F_PID] = { "pid", OUT_STRING, "pid", false, "the process that --pid names" },
	[F_COMMAND] = { "command", OUT_STRING, "command", false,
	    "the command that was run, without its folder; with neither, the machine" },
	/* An estimate has names of its own: whoever asks for hits shall not take it for them. */
	[F_ACCESSES_EST] = { "accesses_est", OUT_COUNT, "hitratio_accesses_est", true,
	    "estimate: bytes that read calls returned, in pages", .estimate = true },
	/* no counter: with more misses than accesses it may shrink */
	[F_HITS_EST] = { "hits_est", OUT_COUNT, "hitratio_hits_est", false,
	    "estimate: accesses_est less misses_est, where that is not negative",
	    .estimate = true },
	[F_MISSES_EST] = { "misses_est", OUT_COUNT, "hitratio_misses_est", true,
	    "estimate: bytes that storage was made to read, in pages", .estimate = true },
	[F_RATIO_EST] = { "ratio_est", OUT_PERCENT, "hitratio_ratio_est", false,
	    "estimate: hits_est / accesses_est", .estimate = true },
	[F_FAULT_MISSES_EST] = { "fault_misses_est", OUT_COUNT, "hitratio_fault_misses_est", true,
	    "estimate: faults that waited for storage, while nothing came from swap",
	    .estimate = true },
	[F_DIRTIES_EST] = { "dirties_est", OUT_COUNT, "hitratio_dirties_est", true,
	    "estimate: pages that went from clean to dirty", .estimate = true },
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

/* The same heads: what is below them says that it is an estimate. */
static const struct out_column estimate_columns[] = {
	{ F_TIME, "TIME", -8, false },
	{ F_HITS_EST, "HITS", 10, false },
	{ F_MISSES_EST, "MISSES", 10, false },
	{ F_DIRTIES_EST, "DIRTIES", 10, false },
	{ F_RATIO_EST, "HITRATIO", 10, false },
	{ F_BUFFERS, "BUFFERS_MB", 12, true },
	{ F_CACHED, "CACHED_MB", 10, true },
	{ 0 },
};

#define TABLE(length, shown) .fields = fields, .count = length, .columns = shown

const struct out_table interval_tables[2][2] = {
	{ { TABLE(EXACT_FIELDS, columns + 1) }, { TABLE(EXACT_FIELDS, columns) } },
	{ { TABLE(FIELDS, estimate_columns + 1) }, { TABLE(FIELDS, estimate_columns) } },
};

static int
take_counters(struct meter *meter, struct moment *moment)
{
	struct counters all;

	if (probe_settle(meter->probe) < 0 ||
	    probe_sums(meter->probe, meter->scope, &moment->sums) < 0 ||
	    probe_sums(meter->probe, SCOPE_ALL, &all) < 0)
		return -1;
	moment->waste = all.of[WASTE];
	moment->lost = all.of[LOST];
	moment->pending = probe_pending(meter->probe);
	return 0;
}

int
interval_moment(struct meter *meter, struct moment *moment)
{
	moment->at = stop_now();
	return meter->probe ? take_counters(meter, moment)
			    : estimate_look(meter->estimate, &moment->estimate);
}

static struct out_value
meminfo_value(uint64_t bytes)
{
	return bytes == MEMINFO_UNKNOWN ? out_unknown : out_number(bytes);
}

/* Reads, and where that was asked for faults: hits are what is not a miss. */
static void
set_ratio(struct out_value *values, const struct meter *meter, const struct counters *more)
{
	uint64_t accesses = more->of[HITS] + more->of[MISSES], misses = more->of[MISSES];

	if (meter->with_faults) {
		accesses += more->of[FAULTS];
		misses += more->of[FAULT_MISSES];
	}
	values[F_ACCESSES] = out_number(accesses);
	values[F_MISSES] = out_number(misses);
	/* which of the faults were misses is not always known exactly */
	if (misses > accesses)
		return;
	values[F_HITS] = out_number(accesses - misses);
	values[F_RATIO] = out_percent(accesses - misses, accesses);
}

static void
set_counters(struct out_value *values, const struct meter *meter, const struct moment *from,
    const struct moment *to)
{
	static const struct {
		enum field field;
		enum counter counter;
	} plain[] = { { F_FAULTS, FAULTS }, { F_FAULT_MISSES, FAULT_MISSES }, { F_MAPPED, MAPPED },
		{ F_STALLS, STALLS }, { F_FILLS, FILLS }, { F_DIRTIES, DIRTIES } };
	struct counters more;

	for (int i = 0; i < COUNTERS; i++)
		more.of[i] = to->sums.of[i] - from->sums.of[i];
	set_ratio(values, meter, &more);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (probe_counts(meter->probe, plain[i].counter))
			values[plain[i].field] = out_number(more.of[plain[i].counter]);
	values[F_WASTE] = out_number(to->waste - from->waste);
	values[F_LOST] = out_number(to->lost - from->lost);
	values[F_PENDING] = out_number(to->pending);
}

/* FIGURE's growth in whole pages, where it is known. */
static struct out_value
pages_value(const struct moment *from, const struct moment *to, enum estimate_figure figure)
{
	if (to->estimate.unknown & 1U << figure)
		return out_unknown;
	return out_number((to->estimate.of[figure] - from->estimate.of[figure]) /
	    (uint64_t)sysconf(_SC_PAGESIZE));
}

static void
set_estimate(struct out_value *values, const struct moment *from, const struct moment *to)
{
	struct out_value accesses = pages_value(from, to, ESTIMATE_READ);
	struct out_value misses = pages_value(from, to, ESTIMATE_FETCHED);

	values[F_ACCESSES_EST] = accesses;
	values[F_MISSES_EST] = misses;
	/* what was fetched and not read (ahead, for mappings) may be more than was read */
	if (accesses.known && misses.known && misses.number <= accesses.number) {
		values[F_HITS_EST] = out_number(accesses.number - misses.number);
		values[F_RATIO_EST] = out_percent(accesses.number - misses.number, accesses.number);
	}
	if (!(to->estimate.unknown & 1U << ESTIMATE_FAULTS))
		values[F_FAULT_MISSES_EST] = out_number(
		    to->estimate.of[ESTIMATE_FAULTS] - from->estimate.of[ESTIMATE_FAULTS]);
	values[F_DIRTIES_EST] = pages_value(from, to, ESTIMATE_DIRTIED);
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
interval_row(struct out *out, const struct meter *meter, const struct moment *from,
    const struct moment *to)
{
	struct out_value values[FIELDS] = { 0 };
	struct meminfo memory;
	char shown[CLOCK];

	values[F_TIME] = time_value(shown);
	values[F_INTERVAL] = out_real((double)(to->at - from->at) / NSEC);
	if (meter->probe)
		set_counters(values, meter, from, to);
	else
		set_estimate(values, from, to);
	if (meminfo_read(MEMINFO_PATH, &memory) == 0) {
		values[F_BUFFERS] = meminfo_value(memory.buffers);
		values[F_CACHED] = meminfo_value(memory.cached);
	}
	values[F_TIER] = out_string(meter_tier(meter));
	values[F_PID] = out_string(meter->pid);
	values[F_COMMAND] = out_string(meter->command);
	return out_row(out, values);
}
