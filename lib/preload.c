/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include <errno.h>
#include <fcntl.h>

#include "device.h"
#include "fetch.h"
#include "gaps.h"
#include "holes.h"
#include "num.h"
#include "stop.h"

struct job {
	int fd;
	const struct stat *status;
	const struct preload_hooks *hooks;
	struct preload *result;
	struct fetch fetch;
	uint64_t missing; /* bytes, before it all */
	uint64_t proven;  /* bytes that mincore saw right after they were read */
	bool counted;     /* cachestat tells of the file */
};

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Whether MISSING bytes of LENGTH from OFFSET may come in: what comes are whole pages. */
static bool
admits(const struct job *job, uint64_t offset, uint64_t length, uint64_t missing)
{
	uint64_t page = residency_page_size(), all = residency_pages(offset, length) * page;
	uint64_t pages = (missing + page - 1) / page * page;

	/* bytes that begin within a page may reach into one more */
	if (offset % page)
		pages += page;
	return !job->hooks->admit || job->hooks->admit(num_least(pages, all), job->hooks->argument);
}

static bool
fits(const struct job *job, uint64_t bytes)
{
	return !job->hooks->fits || job->hooks->fits(bytes, job->hooks->argument);
}

/* What is read a second time, or was in memory before and is read once more, does not count. */
static void
count(const struct job *job, uint64_t bytes)
{
	bytes = num_least(bytes, job->missing - job->result->read);
	job->result->read += bytes;
	if (job->hooks->asked)
		job->hooks->asked(bytes, job->hooks->argument);
}

/* Looks at what has just been read, while the device brings what the kernel reads ahead. */
static void
prove_piece(struct job *job, uint64_t offset, uint64_t length)
{
	uint64_t missing;

	if (gaps_sum(job->fd, offset, length, &missing) == 0)
		job->proven += length - missing;
}

static bool
may_read(const struct job *job, uint64_t bytes)
{
	return !job->hooks->wait || job->hooks->wait(bytes, job->hooks->argument);
}

/* Stops where the file ends by now, or something fails. */
static void
load_range(struct job *job, uint64_t offset, uint64_t length)
{
	uint64_t chunk = job->hooks->chunk ? job->hooks->chunk : job->fetch.piece;

	while (length > 0 && !stop_asked()) {
		uint64_t size = num_least(num_least(length, chunk), job->fetch.piece);
		ssize_t n = 0;

		if (may_read(job, size))
			n = fetch_read(&job->fetch, offset, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			job->result->error = errno;
		if (n <= 0)
			break;
		count(job, (uint64_t)n);
		prove_piece(job, offset, (uint64_t)n);
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
}

static void
load_gaps(struct job *job, uint64_t offset, uint64_t length)
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

/*
 * As count_in, where all of it is in: was seen so piece by piece, and cachestat(2), which counts
 * pages that are still being read but takes a twentieth of the time, says that none has left.
 */
static bool
is_all_in(const struct job *job, uint64_t offset, uint64_t length, struct residency *proof)
{
	struct residency now;

	if (job->proven != length)
		return false;
	residency_query(job->fd, job->status, offset, length, &now);
	if (now.method != RESIDENCY_CACHESTAT || now.resident < now.pages)
		return false;
	residency_prove(job->fd, job->status, offset, 1, proof);
	return true;
}

/* Of LENGTH bytes from OFFSET, those behind the end that the file has now. */
static uint64_t
behind_end(const struct job *job, uint64_t offset, uint64_t length)
{
	struct stat now;

	if (!S_ISREG(job->status->st_mode) || fstat(job->fd, &now) < 0)
		return 0;
	return num_least(less(offset + length, (uint64_t)now.st_size), length);
}

/* As count_in, by residency_query: with what is on its way. The pages at either end are asked
 * for by themselves, as they may lie in the range in part only. */
static bool
count_coming(const struct job *job, uint64_t offset, uint64_t length, uint64_t *bytes,
    struct residency *seen)
{
	uint64_t page = residency_page_size(), end = offset + length, next;

	*bytes = 0;
	for (; offset < end; offset = next) {
		bool whole = offset % page == 0 && end - offset >= page;

		next = whole ? end - end % page : num_least(end, offset - offset % page + page);
		residency_query(job->fd, job->status, offset, next - offset, seen);
		if (seen->method == RESIDENCY_UNKNOWN)
			return false;
		*bytes += whole ? seen->resident * page : seen->resident * (next - offset);
	}
	return true;
}

/* After a stop, of what there is too much of to look at all: what was seen piece by piece, as far
 * as it is there still. */
static void
count_proven(const struct job *job, uint64_t offset, uint64_t length, struct residency *proof)
{
	struct preload *result = job->result;
	struct residency now;
	uint64_t coming;

	result->resident = result->already + job->proven;
	if (job->counted && count_coming(job, offset, length, &coming, &now))
		result->resident = num_least(result->resident, coming);
	proof->method = RESIDENCY_MINCORE;
	proof->why = RESIDENCY_KNOWN;
}

/* What is in afterwards; false where that cannot be known. */
static bool
measure(const struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	struct residency proof;

	if (is_all_in(job, offset, length, &proof))
		result->resident = length;
	else if (!count_in(job, offset, length, &result->resident, &proof) && proof.error == EINTR)
		count_proven(job, offset, length, &proof);
	if (note_unknown(result, &proof))
		return false;
	result->holes = result->cut = 0;
	if (result->resident < length) {
		result->cut = behind_end(job, offset, length);
		result->holes = holes_sum(job->fd, offset, length - result->cut);
	}
	return true;
}

/* What is in before, or on its way; whether gaps will show what is not. */
static bool
measure_before(struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	struct residency before, proof;
	bool few;

	residency_query(job->fd, job->status, offset, length, &before);
	job->counted = before.method == RESIDENCY_CACHESTAT;
	if (note_unknown(result, &before) || before.resident == 0)
		return false;
	if (before.resident >= before.pages) {
		result->already = length;
		return true;
	}
	/* where it is missing is looked for page by page, of which a sparse file may have 2^51 */
	few = fits(job, less(length, before.resident * residency_page_size()));
	if (few && count_in(job, offset, length, &result->already, &proof))
		return true;
	if (!count_coming(job, offset, length, &result->already, &before))
		note_unknown(result, &before);
	return !few;
}

/* To the end of a file the kernel may read ahead as it likes. */
static bool
reaches_end(const struct stat *status, uint64_t offset, uint64_t length)
{
	return S_ISREG(status->st_mode) && offset + length >= (uint64_t)status->st_size;
}

/* What is missing; PARTLY, if not all of it. */
static void
load(struct job *job, uint64_t offset, uint64_t length, bool partly)
{
	struct device device = device_of(job->fd, job->status);
	bool whole = !partly && !job->hooks->chunk && reaches_end(job->status, offset, length);

	/* else not a page around what is missing: nobody asked for it, nor before its time */
	if (!whole)
		posix_fadvise(job->fd, 0, 0, POSIX_FADV_RANDOM);
	if (fetch_begin(&job->fetch, job->fd, &device, whole) < 0) {
		job->result->error = errno;
		return;
	}
	if (partly)
		load_gaps(job, offset, length);
	else
		load_range(job, offset, length);
	fetch_end(&job->fetch);
}

/* Measures, and loads once more what was on its way still, or pushed out: if there is room. */
static void
finish(struct job *job, uint64_t offset, uint64_t length)
{
	struct preload *result = job->result;
	uint64_t missing;

	if (!measure(job, offset, length) || result->resident == length || result->error)
		return;
	missing = less(length - result->resident, result->holes + result->cut);
	if (stop_asked() || missing == 0 || !admits(job, offset, length, missing))
		return;
	job->proven = 0; /* what has been seen once may be what is missing now */
	load(job, offset, length, true);
	measure(job, offset, length);
}

void
preload_range(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    const struct preload_hooks *hooks, struct preload *result)
{
	struct job job = { .fd = fd, .status = status, .hooks = hooks, .result = result };
	uint64_t missing;
	bool partly;

	*result = (struct preload){ .why = RESIDENCY_KNOWN };
	if (length == 0)
		return;
	partly = measure_before(&job, offset, length);
	missing = job.missing = length - result->already;
	if (missing && !admits(&job, offset, length, missing)) {
		result->skipped = missing;
		result->resident = result->already;
		return;
	}
	if (missing)
		load(&job, offset, length, partly);
	finish(&job, offset, length);
}

void
preload_rest(int fd, const struct stat *status, const struct preload_hooks *hooks,
    struct preload *result)
{
	struct job job = { .fd = fd, .status = status, .hooks = hooks, .result = result };

	job.missing = (uint64_t)status->st_size;
	load(&job, 0, (uint64_t)status->st_size, true);
	finish(&job, 0, (uint64_t)status->st_size);
}

bool
preload_recount(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    uint64_t *bytes, struct residency *seen)
{
	const struct job job = { .fd = fd, .status = status };

	*bytes = 0;
	residency_query(fd, status, offset, length, seen);
	if (seen->method == RESIDENCY_UNKNOWN)
		return false;
	if (seen->resident >= seen->pages)
		*bytes = length;
	else if (seen->resident > 0 && !count_coming(&job, offset, length, bytes, seen))
		return false;
	/* cachestat counts pages behind the end, where they are huge ones of tmpfs */
	return *bytes <= length || count_in(&job, offset, length, bytes, seen);
}

void
preload_look(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    const struct preload_hooks *hooks, struct preload *result)
{
	struct job job = { .fd = fd, .status = status, .hooks = hooks, .result = result };

	*result = (struct preload){ .why = RESIDENCY_KNOWN };
	if (length > 0)
		measure_before(&job, offset, length);
	result->resident = result->already;
	if (result->already < length)
		result->holes = holes_sum(fd, offset, length);
}

void
preload_add(struct preload *sum, const struct preload *part)
{
	sum->already += part->already;
	sum->resident += part->resident;
	sum->holes += part->holes;
	sum->cut += part->cut;
	sum->skipped += part->skipped;
	sum->read += part->read;
	if (!sum->error)
		sum->error = part->error;
	if (sum->why == RESIDENCY_KNOWN) {
		sum->why = part->why;
		sum->unmeasured = part->unmeasured;
	}
}
