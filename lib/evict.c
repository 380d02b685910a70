/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "evict.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "each.h"
#include "num.h"
#include "stop.h"

/* Pages of one step: no folio spans two, as folios lie as their size has it. */
#define WINDOW 4096

/* After a stop, steps that are looked at all the same: 4 GiB. */
#define LAST_LOOKS 256

/* Pages that are skipped in one step, if nothing of them is in memory. */
#define LONGEST (1ULL << 40)

struct job {
	struct evict_tools *tools;
	struct stayed_asked asked;
	uint64_t end; /* as asked.end, but within the file */
	bool act;     /* still to drop something, not just to measure */
	bool untold;  /* a dry run was stopped before it was known whether it would */
	uint64_t waited;
	unsigned looks; /* after a stop */
	struct evict *result;
};

struct window {
	uint64_t first; /* page */
	size_t pages;
	unsigned char before[WINDOW], in[WINDOW], reasons[WINDOW];
};

/*
 * Waits before each further try, in ns. Measured on Linux 6.18: one try does for all that nobody
 * touches, as sync_file_range waits for writeback, and DONTNEED itself takes pages from the
 * batches of all processors where some would not go (Linux 5.10; before, wherever less went than
 * the range has pages). Of pages that are being read at this moment some stay for two or three.
 * PATIENCE is what a file may take in all, however large.
 */
#define MS       1000000ULL
#define PATIENCE (100 * MS)
static const uint64_t waits[] = { 0, 0, 4 * MS, 16 * MS };
#define TRIES (sizeof waits / sizeof *waits)

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The part of what is asked for that the window, or one page, holds: [*start, *end). */
static void
clip(const struct job *job, uint64_t first, uint64_t pages, uint64_t *start, uint64_t *end)
{
	uint64_t page = residency_page_size();

	*start = most(job->asked.offset, first * page);
	*end = num_least(job->end, (first + pages) * page);
}

/* LENGTH as fadvise(2) and sync_file_range(2) take it: a folio may end behind the file, and is
 * dropped only with all that is there. */
static off_t
length_for_kernel(const struct job *job, uint64_t start, uint64_t end)
{
	return end == job->end && job->asked.end == UINT64_MAX ? 0 : (off_t)(end - start);
}

static int
look(const struct job *job, const struct window *window, unsigned char *in)
{
	size_t bytes = window->pages * (size_t)residency_page_size();
	off_t offset = (off_t)(window->first * residency_page_size());
	void *map;
	int result;

	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, job->asked.fd, offset);
	if (map == MAP_FAILED)
		return -1;
	result = mincore(map, bytes, in);
	munmap(map, bytes);
	return result;
}

static bool
any_in(const unsigned char *in, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		if (in[i] & 1)
			return true;
	return false;
}

/*
 * The range alone first, without the commit of a journal. It cannot reach the pages below an
 * overlay, and a network file system may keep them until they are committed: then all of it.
 */
static int
write_back(int fd, off_t start, off_t length, bool all)
{
	if (!all &&
	    sync_file_range(fd, start, length,
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) ==
		0)
		return 0;
	if (!all && errno != ENOSYS && errno != EPERM && errno != EINVAL && errno != ESPIPE)
		return -1;
	return fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : -1;
}

/* What cannot be written back must stay: there is no other copy of it. */
static int
drop(struct job *job, uint64_t start, uint64_t end, bool all)
{
	off_t length = length_for_kernel(job, start, end);
	int error = 0;

	if (write_back(job->asked.fd, (off_t)start, length, all) < 0)
		error = errno;
	else
		error = posix_fadvise(job->asked.fd, (off_t)start, length, POSIX_FADV_DONTNEED);
	if (error) {
		job->result->error = error;
		job->act = false;
	}
	return error ? -1 : 0;
}

/* Whether what stayed may go yet. */
static bool
is_hopeful(const struct window *window)
{
	for (size_t i = 0; i < window->pages; i++)
		if ((window->in[i] & 1) &&
		    (window->reasons[i] == STAYED_UNKNOWN || window->reasons[i] == STAYED_DIRTY))
			return true;
	return false;
}

/* Before a try: false where there shall be no more. */
static bool
wait_for(struct job *job, uint64_t time)
{
	if (time == 0)
		return !stop_asked();
	job->waited += time;
	return job->waited <= PATIENCE && stop_sleep(stop_now() + time, -1);
}

static void
explain(struct job *job, struct window *window)
{
	if (!stayed_explain(&job->tools->stayed, &job->asked, window->first, window->pages,
		window->in, window->reasons))
		job->result->dirt_hidden = job->asked.foresee;
}

/* Until nothing is left, or nothing that may go yet. */
static int
empty(struct job *job, struct window *window, uint64_t start, uint64_t end)
{
	for (size_t try = 0; try < TRIES && wait_for(job, waits[try]); try++) {
		if (drop(job, start, end, try > 0) < 0)
			break;
		if (look(job, window, window->in) < 0)
			return -1;
		if (!any_in(window->in, window->pages))
			break;
		explain(job, window);
		if (!is_hopeful(window))
			break;
	}
	return 0;
}

static void
count(struct job *job, const struct window *window)
{
	struct evict *result = job->result;
	uint64_t start, end;

	for (size_t i = 0; i < window->pages; i++) {
		clip(job, window->first + i, 1, &start, &end);
		if (window->before[i] & 1)
			result->already += end - start;
		if ((window->before[i] & 1) && !(window->in[i] & 1))
			result->evicted += end - start;
		if (!(window->in[i] & 1))
			continue;
		result->resident += end - start;
		if (result->left)
			result->left_bytes += end - start;
		else if (window->reasons[i] != STAYED_NOTHING)
			result->stayed[window->reasons[i]] += end - start;
	}
}

/* Nothing there is nothing to do, whoever uses the file; pages of which only some blocks are there
 * are something. Whether that was told by cachestat: *QUICK. */
static bool
is_cold(const struct job *job, uint64_t start, uint64_t end, bool *quick)
{
	struct residency seen;

	residency_query(job->asked.fd, job->asked.status, start, end - start, &seen);
	*quick = seen.detailed;
	return seen.method != RESIDENCY_UNKNOWN && seen.begun == 0;
}

/*
 * Moves page *NUMBER on to the first window that is not cold, or to LAST. -1 with EINTR at a stop,
 * some windows later. cachestat takes the time of what is in memory, mincore that of what might be:
 * a sparse file may have 2^51 pages.
 */
static int
pass_cold(struct job *job, uint64_t *number, uint64_t last)
{
	uint64_t stretch = WINDOW, pages, start, end;
	bool quick;

	while (*number < last) {
		if (stop_asked() && job->looks++ >= LAST_LOOKS) {
			errno = EINTR;
			return -1;
		}
		pages = num_least(last - *number, stretch - *number % WINDOW);
		clip(job, *number, pages, &start, &end);
		if (is_cold(job, start, end, &quick)) {
			*number += pages;
			if (quick && stretch < LONGEST)
				stretch *= 2;
		} else if (stretch > WINDOW)
			stretch /= 2;
		else
			break;
	}
	return 0;
}

static int
handle(struct job *job, struct window *window)
{
	uint64_t start, end;

	clip(job, window->first, window->pages, &start, &end);
	if (look(job, window, window->before) < 0)
		return -1;
	memcpy(window->in, window->before, window->pages);
	memset(window->reasons, STAYED_UNKNOWN, window->pages);
	if (job->act && empty(job, window, start, end) < 0)
		return -1;
	if (!job->act && !job->result->left && !job->untold)
		explain(job, window);
	/* it may have gone while the reason was sought */
	if (any_in(window->in, window->pages) && look(job, window, window->in) < 0)
		return -1;
	if (job->asked.foresee) /* and was not dropped by us then */
		memcpy(window->before, window->in, window->pages);
	count(job, window);
	return 0;
}

static void
handle_all(struct job *job)
{
	uint64_t page = residency_page_size(), number = job->asked.offset / page;
	uint64_t last = number + residency_pages(job->asked.offset, job->end - job->asked.offset);
	struct window window;

	while (pass_cold(job, &number, last) == 0) {
		if (number == last)
			return;
		window.first = number;
		window.pages = (size_t)num_least(last - number, WINDOW - number % WINDOW);
		if (handle(job, &window) < 0)
			break;
		number += window.pages;
	}
	job->result->why = RESIDENCY_ERROR;
	job->result->unmeasured = errno;
}

/* Where nobody tells us what is in memory. */
static void
drop_blindly(struct job *job)
{
	if (drop(job, job->asked.offset, job->end, false) == 0)
		drop(job, job->asked.offset, job->end, true);
}

/* Whether anything can be known; else why not. */
static bool
is_measurable(struct job *job)
{
	struct evict *result = job->result;
	struct residency proof;

	residency_prove(job->asked.fd, job->asked.status, job->asked.offset, 1, &proof);
	result->why = proof.why;
	result->unmeasured = proof.why == RESIDENCY_ERROR ? proof.error : 0;
	return proof.method != RESIDENCY_UNKNOWN;
}

/* Who uses a file decides whether it is left. Where all shall go, it still tells a dry run that
 * nothing is mapped, if the pages do not. */
static void
ask_who_uses(struct job *job)
{
	const struct evict_tools *tools = job->tools;
	bool blind = tools->how.dry_run && !tools->stayed.frames.known;
	enum inuse used;

	if (job->asked.tmpfs || (tools->how.force && !blind))
		return;
	used = inuse_ask(&job->tools->inuse, job->asked.fd, job->asked.status);
	job->asked.unused = used == INUSE_FREE && !stop_asked(); /* which ends the asking */
	if (tools->how.force)
		return;
	job->result->left = used;
	job->untold = tools->how.dry_run && used == INUSE_FREE && !job->asked.unused;
}

static void
work(struct job *job)
{
	struct evict *result = job->result;
	bool measurable = is_measurable(job);

	if (result->why == RESIDENCY_NOT_PAGE_CACHE)
		return;
	ask_who_uses(job);
	job->act = result->left == INUSE_FREE && !job->asked.tmpfs && !job->tools->how.dry_run &&
	    !stop_asked();
	if (measurable)
		handle_all(job);
	else if (job->act)
		drop_blindly(job);
}

/* As each_run has it. */
static bool
is_reported_once(const struct evict_tools *tools, const struct stat *status)
{
	return tools->how.once && (status->st_nlink > 1 || tools->how.follow);
}

/* With no other thread at the same file. */
static void
evict_alone(struct job *job, uint64_t length)
{
	struct evict_tools *tools = job->tools;
	const struct stayed_asked *asked = &job->asked;
	bool quick;

	if (inuse_enter(&tools->inuse, asked->fd, asked->status) < 0) {
		job->result->error = errno;
		return;
	}
	if (!is_cold(job, asked->offset, asked->offset + length, &quick))
		work(job);
	inuse_leave(&tools->inuse, asked->fd, asked->status);
}

void
evict_range(struct evict_tools *tools, int fd, const struct stat *status, uint64_t offset,
    uint64_t length, struct evict *result)
{
	uint64_t size = (uint64_t)status->st_size, end = offset + length;
	bool once = is_reported_once(tools, status);
	struct job job = {
		.tools = tools,
		.asked = {
			.fd = fd,
			.status = status,
			.offset = offset,
			.end = end >= size ? UINT64_MAX : end,
			.tmpfs = stayed_in_tmpfs(fd, status),
			.foresee = tools->how.dry_run,
		},
		.end = end,
		.result = result,
	};

	*result = (struct evict){ .why = RESIDENCY_KNOWN };
	if (length == 0)
		return;
	if (once && !twins_claim(&tools->twins, status)) {
		/* who works on it asks whether it is in use */
		if (inuse_let_go(&tools->inuse, fd) < 0)
			result->error = errno;
		else
			twins_take(&tools->twins, status, result);
		return;
	}
	evict_alone(&job, length);
	if (once)
		twins_done(&tools->twins, status, result, 0);
}

int
evict_begin(struct evict_tools *tools, const struct evict_how *how)
{
	tools->how = *how;
	if (twins_begin(&tools->twins, each_ahead(how->workers), sizeof(struct evict)) < 0) {
		twins_free(&tools->twins);
		return -1;
	}
	stayed_begin(&tools->stayed);
	inuse_begin(&tools->inuse);
	return 0;
}

void
evict_end(struct evict_tools *tools)
{
	stayed_end(&tools->stayed);
	inuse_end(&tools->inuse);
	twins_free(&tools->twins);
}
