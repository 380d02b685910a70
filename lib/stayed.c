/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stayed.h"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "num.h"
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

/* A file system holds buffers of the device that it lies on, which no flag tells before a try. */
static bool
may_be_held(const struct stayed_asked *asked)
{
	return asked->foresee && S_ISBLK(asked->status->st_mode);
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
	    : is_partial(look->asked, number - (frame - folio->head), folio->end - folio->head)
	    ? STAYED_EDGE
	    : may_be_held(look->asked)                ? STAYED_UNKNOWN
	    : flags & (FLAG(DIRTY) | FLAG(WRITEBACK)) ? STAYED_DIRTY
	    : look->asked->foresee                    ? STAYED_NOTHING
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

/*
 * Whether a folio of the page may reach out of what was asked for: for who is not told how large
 * it is. No folio of a file has more pages than a table of the lowest level or, whatever the size
 * of a page, 2048 (Linux 6.10: MAX_XAS_ORDER).
 */
static bool
may_reach_out(const struct stayed_asked *asked, uint64_t number)
{
	uint64_t most = num_least(residency_page_size() / sizeof(uint64_t), 2048);

	return is_partial(asked, number - number % most, most);
}

/* What would go, for who is not told of frames: of what nobody uses nothing is mapped or locked. */
static void
foresee(const struct stayed_asked *asked, uint64_t first, size_t count, const unsigned char *in,
    unsigned char *reasons)
{
	for (size_t i = 0; i < count && asked->unused; i++)
		if ((in[i] & 1) && reasons[i] == STAYED_UNKNOWN && !may_reach_out(asked, first + i))
			reasons[i] = STAYED_NOTHING;
}

enum dirt { CLEAN, DIRTY, NOT_TOLD };

/* By cachestat, whose sums do not tell which pages. */
static enum dirt
look_for_dirt(const struct stayed_asked *asked, uint64_t first, size_t count)
{
	uint64_t page = residency_page_size();
	struct residency seen;

	residency_query(asked->fd, asked->status, first * page, count * page, &seen);
	return !seen.detailed ? NOT_TOLD : seen.dirty || seen.writeback ? DIRTY : CLEAN;
}

static bool
has_reason(enum stayed reason, const unsigned char *in, const unsigned char *reasons, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((in[i] & 1) && reasons[i] == reason)
			return true;
	return false;
}

/* For who is not told of frames: false where neither cachestat tells. */
static bool
find_dirty(const struct stayed_asked *asked, uint64_t first, size_t count, const unsigned char *in,
    unsigned char *reasons)
{
	/* what may stay for another reason is not said to go once it is clean */
	enum stayed open = asked->foresee ? STAYED_NOTHING : STAYED_UNKNOWN;
	enum dirt dirt = CLEAN;

	if (has_reason(open, in, reasons, count))
		dirt = look_for_dirt(asked, first, count);
	for (size_t i = 0; i < count && dirt == DIRTY; i++)
		if ((in[i] & 1) && reasons[i] == open &&
		    look_for_dirt(asked, first + i, 1) == DIRTY)
			reasons[i] = STAYED_DIRTY;
	return dirt != NOT_TOLD;
}

bool
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
		if (has_reason(STAYED_UNKNOWN, in + at, reasons + at, part))
			explain_by_frames(&look, first + at, part, in + at, reasons + at);
	}
	if (tools->frames.known)
		return true;
	if (asked->foresee)
		foresee(asked, first, count, in, reasons);
	return find_dirty(asked, first, count, in, reasons);
}
