/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "gaps.h"
#include "holes.h"
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

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static bool
admits(const struct job *job, uint64_t bytes)
{
	return !job->hooks->admit || job->hooks->admit(bytes, job->hooks->argument);
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
	if (found < 0 && !stop_asked())
		job->result->error = errno;
}

/* Why nothing is known, as SEEN says; false where something is. */
static bool
note_unknown(struct preload *result, const struct residency *seen)
{
	result->why = seen->why;
	result->unmeasured = seen->why == RESIDENCY_ERROR ? seen->error : 0;
	return seen->method == RESIDENCY_UNKNOWN;
}

/*
 * What is in by mincore, to the byte, into *BYTES; false where that cannot be known,
 * and PROOF says why. A page tells whether mincore tells us the truth.
 */
static bool
count_in(const struct job *job, uint64_t offset, uint64_t length, uint64_t *bytes,
    struct residency *proof)
{
	uint64_t missing;

	residency_prove(job->fd, job->status, offset, 1, proof);
	if (proof->method == RESIDENCY_UNKNOWN)
		return false;
	if (gaps_sum(job->fd, offset, length, &missing) < 0) {
		proof->method = RESIDENCY_UNKNOWN;
		proof->why = RESIDENCY_ERROR;
		proof->error = errno;
		return false;
	}
	*bytes = length - missing;
	return true;
}

/* What is in afterwards; false where that cannot be known. */
static bool
measure(const struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	struct residency proof;

	count_in(job, offset, length, &result->resident, &proof);
	if (note_unknown(result, &proof))
		return false;
	if (result->resident < length)
		result->holes = holes_sum(job->fd, offset, length);
	return true;
}

/* What is in before, or on its way; whether gaps will show what is not. */
static bool
measure_before(const struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	struct residency before, proof;

	residency_query(job->fd, job->status, offset, length, &before);
	if (note_unknown(result, &before) || before.resident == 0)
		return false;
	if (before.resident >= before.pages) {
		result->already = length;
		return true;
	}
	/* pages do not tell bytes where the range begins or ends within one */
	if (count_in(job, offset, length, &result->already, &proof))
		return true;
	/* as many bytes at least */
	result->already = less(length, (before.pages - before.resident) * residency_page_size());
	return false;
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
	uint64_t missing;
	bool partly;

	*result = (struct preload){ .why = RESIDENCY_KNOWN };
	if (length == 0)
		return;
	partly = measure_before(&job, offset, length);
	missing = length - result->already;
	if (missing && !admits(&job, missing)) {
		result->skipped = missing;
		result->resident = result->already;
		return;
	}
	/* else not a page around what is missing: nobody asked for it */
	if (missing && (partly || !reaches_end(status, offset, length)))
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (missing && !partly)
		load_range(&job, offset, length);
	else if (missing)
		load_gaps(&job, offset, length);
	if (!measure(&job, offset, length) || result->resident == length || result->error)
		return;
	/* what was on its way still, or pushed out: once more, if there is room for it */
	missing = less(length - result->resident, result->holes);
	if (stop_asked() || missing == 0 || !admits(&job, missing))
		return;
	load_gaps(&job, offset, length);
	measure(&job, offset, length);
}

void
preload_parts(int fd, const struct stat *status, const struct num_range *parts, size_t count,
    const struct preload_hooks *hooks, struct preload *result)
{
	*result = (struct preload){ .why = RESIDENCY_KNOWN };
	for (size_t i = 0; i < count; i++) {
		struct preload part;

		preload_range(fd, status, parts[i].offset, parts[i].length, hooks, &part);
		result->already += part.already;
		result->resident += part.resident;
		result->holes += part.holes;
		result->skipped += part.skipped;
		result->read += part.read;
		if (!result->error)
			result->error = part.error;
		if (result->why == RESIDENCY_KNOWN) {
			result->why = part.why;
			result->unmeasured = part.unmeasured;
		}
	}
}
