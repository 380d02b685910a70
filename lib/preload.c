/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "gaps.h"
#include "stop.h"

/*
 * One read. Measured on two devices with readahead of 128 KiB and of 8 MiB: at 2 MiB a
 * plain read is as fast as any other way, or faster. The kernel reads such a request
 * as a whole (Linux 4.10), and in large folios, which WILLNEED and FADV_RANDOM never
 * use: they cost more to make than the copy that they save.
 */
#define PIECE (2U << 20)

struct job {
	int fd;
	const struct stat *status;
	const struct preload_hooks *hooks;
	struct preload *result;
};

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
count(const struct job *job, uint64_t bytes)
{
	job->result->read += bytes;
	if (job->hooks->asked)
		job->hooks->asked(bytes, job->hooks->argument);
}

/* Stops where the file ends by now, or something fails. */
static void
load_range(const struct job *job, uint64_t offset, uint64_t length)
{
	char *buffer = malloc(least(length, PIECE)); /* what nobody looks at */

	if (!buffer)
		job->result->error = ENOMEM;
	while (buffer && length > 0 && !stop_asked()) {
		ssize_t n = pread(job->fd, buffer, least(length, PIECE), (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			job->result->error = errno;
		if (n <= 0)
			break;
		count(job, (uint64_t)n);
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	free(buffer);
}

static void
load_gaps(const struct job *job, uint64_t offset, uint64_t length)
{
	struct gaps gaps;
	int found;

	gaps_begin(&gaps, job->fd, offset, length);
	while ((found = gaps_next(&gaps)) > 0 && !stop_asked() && !job->result->error)
		load_range(job, gaps.offset, gaps.length);
	if (found < 0)
		job->result->error = errno;
}

/* Bytes of the range that are in, as far as whole pages tell. */
static uint64_t
resident_bytes(const struct residency *seen, uint64_t length)
{
	if (seen->resident >= seen->pages)
		return length;
	return least(seen->resident * residency_page_size(), length);
}

/* What is in, to the byte; false where that cannot be known. */
static bool
measure(const struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	struct residency seen;
	uint64_t missing;

	residency_prove(job->fd, job->status, offset, length, &seen);
	result->why = seen.why;
	if (seen.method == RESIDENCY_UNKNOWN) {
		if (seen.why == RESIDENCY_ERROR && !result->error)
			result->error = seen.error;
		return false;
	}
	result->resident = resident_bytes(&seen, length);
	if (result->resident == length || gaps_sum(job->fd, offset, length, &missing) < 0)
		return true;
	result->resident = length - missing;
	return true;
}

/* To the end of a file the kernel may read ahead as it likes. */
static bool
reaches_end(const struct stat *status, uint64_t offset, uint64_t length)
{
	return S_ISREG(status->st_mode) && offset + length >= (uint64_t)status->st_size;
}

void
preload_range(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    const struct preload_hooks *hooks, struct preload *result)
{
	struct job job = { fd, status, hooks, result };
	struct residency before;
	uint64_t missing = length;

	*result = (struct preload){ .why = RESIDENCY_KNOWN };
	if (length == 0)
		return;
	residency_query(fd, status, offset, length, &before);
	if (before.method != RESIDENCY_UNKNOWN)
		missing -= result->already = resident_bytes(&before, length);
	if (missing && hooks->admit && !hooks->admit(missing, hooks->argument)) {
		result->skipped = missing;
		measure(&job, offset, length);
		return;
	}
	/* else not a page around what is missing: nobody asked for it */
	if (missing && (missing != length || !reaches_end(status, offset, length)))
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (missing == length)
		load_range(&job, offset, length);
	else if (missing)
		load_gaps(&job, offset, length);
	if (!measure(&job, offset, length) || result->resident == length || result->error)
		return;
	if (stop_asked())
		return;
	load_gaps(&job, offset, length);
	measure(&job, offset, length);
}
