/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stayed.h"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pagemap.h"
#include "residency.h"

#define FLAG(name) (1ULL << KPF_##name)

/* Not among the flags that the kernel promises, but at this number since Linux 2.6.31. */
#define KPF_MLOCKED 33

/* The folio looked at last: what is true of one of its pages is true of all. */
struct folio {
	uint64_t head, end; /* frames */
	enum stayed reason;
};

struct look {
	struct stayed_tools *tools;
	const struct stayed_asked *asked;
	struct frames_window window;
	struct folio folio;
};

void
stayed_begin(struct stayed_tools *tools)
{
	frames_begin(&tools->frames);
	tools->counts = open("/proc/kpagecount", O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&tools->lock, NULL);
}

void
stayed_end(struct stayed_tools *tools)
{
	frames_end(&tools->frames);
	if (tools->counts >= 0)
		close(tools->counts);
	pthread_mutex_destroy(&tools->lock);
}

bool
stayed_in_tmpfs(int fd, const struct stat *status)
{
	struct statfs system;

	/* of a device it says where its node lies */
	if (!S_ISREG(status->st_mode) || fstatfs(fd, &system) < 0)
		return false;
	return (uint32_t)system.f_type == TMPFS_MAGIC || (uint32_t)system.f_type == RAMFS_MAGIC;
}

/* Whether a process has mapped one of these frames. */
static bool
is_mapped(const struct stayed_tools *tools, uint64_t frame, uint64_t end)
{
	uint64_t counts[16];

	while (frame < end) {
		size_t want = end - frame < 16 ? (size_t)(end - frame) : 16;
		size_t got = pagemap_numbers(tools->counts, frame, counts, want);

		for (size_t i = 0; i < got; i++)
			if (counts[i])
				return true;
		if (got == 0)
			break;
		frame += got;
	}
	return false;
}

/* Whether the page has bytes outside of what was asked for: such a page is never dropped. */
static bool
is_partial(const struct stayed_asked *asked, uint64_t first, uint64_t count)
{
	uint64_t page = residency_page_size();

	return first * page < asked->offset || (first + count) * page > asked->end;
}

static uint64_t
folio_end(struct look *look, uint64_t head)
{
	uint64_t end = head + 1;

	while (frames_flags(&look->window, end) & FLAG(COMPOUND_TAIL))
		end++;
	return end;
}

/* The folio of FRAME, which is page NUMBER of the file. Before Linux 6.10 only the head of a
 * folio has flags. */
static void
look_at_folio(struct look *look, uint64_t frame, uint64_t number)
{
	struct frames_window *window = &look->window;
	struct folio *folio = &look->folio;
	uint64_t flags = frames_flags(window, frame);
	bool large = flags & (FLAG(COMPOUND_HEAD) | FLAG(COMPOUND_TAIL));

	folio->head = flags & FLAG(COMPOUND_TAIL) ? frames_head(window, frame) : frame;
	folio->end = large ? folio_end(look, folio->head) : frame + 1;
	flags |= frames_flags(window, folio->head);
	folio->reason = flags & FLAG(NOPAGE)                  ? STAYED_UNKNOWN
	    : flags & FLAG(SWAPBACKED)                        ? STAYED_TMPFS
	    : flags & FLAG(MLOCKED)                           ? STAYED_LOCKED
	    : is_mapped(look->tools, folio->head, folio->end) ? STAYED_MAPPED
	    : flags & (FLAG(DIRTY) | FLAG(WRITEBACK))         ? STAYED_DIRTY
	    : is_partial(look->asked, number - (frame - folio->head), folio->end - folio->head)
	    ? STAYED_EDGE
	    : STAYED_UNKNOWN;
}

/*
 * By the frames of COUNT pages from FIRST on, which one window holds. Our mapping, which is how
 * they are found, is gone when the mappings are counted.
 */
static void
explain_by_frames(struct look *look, uint64_t first, size_t count, const unsigned char *in,
    unsigned char *reasons)
{
	uint64_t page = residency_page_size();

	pthread_mutex_lock(&look->tools->lock);
	frames_look(&look->window, &look->tools->frames, look->asked->fd, first * page,
	    count * page);
	frames_look_away(&look->window);
	look->folio = (struct folio){ 0 };
	for (size_t i = 0; i < count; i++) {
		uint64_t frame = look->window.frame[i];

		if (!(in[i] & 1) || reasons[i] != STAYED_UNKNOWN || frame == 0)
			continue;
		if (frame < look->folio.head || frame >= look->folio.end)
			look_at_folio(look, frame, first + i);
		reasons[i] = (unsigned char)look->folio.reason;
	}
	pthread_mutex_unlock(&look->tools->lock);
}

/* What anybody may know of a page. */
static enum stayed
reason_of(const struct stayed_asked *asked, uint64_t number)
{
	return asked->tmpfs                ? STAYED_TMPFS
	    : is_partial(asked, number, 1) ? STAYED_EDGE
					   : STAYED_UNKNOWN;
}

/* By cachestat, page by page: its sums do not tell which. */
static bool
is_dirty(const struct stayed_asked *asked, uint64_t number)
{
	uint64_t page = residency_page_size();
	struct residency seen;

	residency_query(asked->fd, asked->status, number * page, page, &seen);
	return seen.detailed && (seen.dirty || seen.writeback);
}

static bool
has_unknown(const unsigned char *in, const unsigned char *reasons, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((in[i] & 1) && reasons[i] == STAYED_UNKNOWN)
			return true;
	return false;
}

void
stayed_explain(struct stayed_tools *tools, const struct stayed_asked *asked, uint64_t first,
    size_t count, const unsigned char *in, unsigned char *reasons)
{
	struct look look = { .tools = tools, .asked = asked };
	size_t part;

	for (size_t i = 0; i < count; i++)
		reasons[i] = in[i] & 1 ? (unsigned char)reason_of(asked, first + i) : 0;
	for (size_t at = 0; at < count && tools->frames.known; at += part) {
		part = FRAMES_PAGES - (first + at) % FRAMES_PAGES;
		if (part > count - at)
			part = count - at;
		if (has_unknown(in + at, reasons + at, part))
			explain_by_frames(&look, first + at, part, in + at, reasons + at);
	}
	for (size_t i = 0; i < count && !tools->frames.known; i++)
		if ((in[i] & 1) && reasons[i] == STAYED_UNKNOWN && is_dirty(asked, first + i))
			reasons[i] = STAYED_DIRTY;
}
