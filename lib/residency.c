/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "residency.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "device.h"
#include "folder.h"
#include "sysabi.h"

#define WINDOW     (128ULL << 20) /* bytes of a file that one mincore(2) looks at */
#define SMALL_PAGE 4096
#define FUSE_MAGIC 0x65735546
#define ZFS_MAGIC  0x2fc12fc1

/* An offset where no file has pages, though mmap(2) takes it. */
#define NOWHERE                                                                                    \
	((off_t)((sizeof(long) == 8 ? INT64_MAX : 1LL << 43) - (4LL << 20)) & ~((2LL << 20) - 1))

/* How a file system keeps its files. */
enum keeping {
	PLAIN,     /* in the page cache, as whole pages of the file itself */
	PARTS,     /* the same, but maybe of a page only what was written: cachestat(2) counts it */
	ELSEWHERE, /* in the page cache, maybe as pages of another file: cachestat(2) says 0 */
	MAYBE_DAX, /* PLAIN, but some files may be read from the device without it */
	NOT_PAGES, /* not in the page cache */
};

uint64_t
residency_page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t
residency_pages(uint64_t offset, uint64_t length)
{
	uint64_t page = residency_page_size();

	return length ? (offset + length - 1) / page - offset / page + 1 : 0;
}

const char *
residency_method_name(enum residency_method method)
{
	static const char *const names[] = { "unknown", "cachestat", "mincore" };

	return names[method];
}

/* Whether the device may be one for direct access (DAX): where sysfs does not say, yes. */
static bool
device_may_be_dax(dev_t device)
{
	char answer[8];

	return !device_says("", device, "dax", answer, sizeof answer) || answer[0] != '0';
}

/*
 * A write of whole blocks does not read the rest of their page, so a page is whole where a block
 * is no smaller. These file systems say in f_bsize how large blocks are; with others it may be
 * the cluster (FAT) or what is best to transfer (NFS, which keeps any part of a page).
 */
static enum keeping
look_up_keeping(int fd, dev_t device)
{
	struct statfs status;
	bool whole;

	if (fstatfs(fd, &status) < 0)
		return ELSEWHERE;
	whole = (uint64_t)status.f_bsize >= residency_page_size();
	switch ((uint32_t)status.f_type) {
	case HUGETLBFS_MAGIC:
	case ZFS_MAGIC:
		return NOT_PAGES;
	case OVERLAYFS_SUPER_MAGIC: /* cachestat(2) looks at the overlay's own, empty mapping */
	case FUSE_MAGIC:            /* and so it does with passthrough (Linux 6.9) */
		return ELSEWHERE;
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
		return !whole ? PARTS : device_may_be_dax(device) ? MAYBE_DAX : PLAIN;
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
		return whole ? PLAIN : PARTS;
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return PLAIN;
	default:
		return folder_is_pseudo(fd) ? NOT_PAGES : PARTS;
	}
}

/*
 * fstatfs(2) adds up counters of every processor: once per file system is enough.
 * Files of an overlay have device numbers of their own since Linux 5.6, older than
 * the cachestat(2) that must not be used on them.
 */
static enum keeping
keeping_of(int fd, dev_t device)
{
	static _Thread_local struct {
		bool known;
		dev_t device;
		enum keeping keeping;
	} last;

	if (!last.known || last.device != device) {
		last.keeping = look_up_keeping(fd, device);
		last.device = device;
		last.known = true;
	}
	return last.keeping;
}

static bool
is_dax(int fd)
{
	struct sysabi_statx status = { 0 };

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &status) < 0)
		return false;
	return status.attributes & SYSABI_STATX_DAX;
}

/*
 * Whether cachestat(2) is there and no sandbox forbids it: then it looks at the
 * descriptor before all else. A seccomp filter may say EPERM, as the kernel does for
 * the files of others, which would look the same on any file.
 */
static bool
cachestat_works(void)
{
	enum { UNDECIDED, YES, NO };
	static atomic_int decision;
	struct sysabi_cachestat_range range = { 0, 1 };
	struct sysabi_cachestat pages;

	if (atomic_load_explicit(&decision, memory_order_relaxed) == UNDECIDED) {
		syscall(SYS_cachestat, -1, &range, &pages, 0);
		atomic_store(&decision, errno == EBADF ? YES : NO);
	}
	return atomic_load_explicit(&decision, memory_order_relaxed) == YES;
}

static void
unknown(struct residency *residency, enum residency_why why, int error)
{
	residency->method = RESIDENCY_UNKNOWN;
	residency->why = why;
	residency->error = error;
	residency->resident = residency->begun = 0;
	residency->detailed = false;
}

static void
ask_cachestat(int fd, uint64_t offset, uint64_t length, struct residency *residency)
{
	struct sysabi_cachestat_range range = { offset, length };
	struct sysabi_cachestat pages = { 0 };

	if (length && syscall(SYS_cachestat, fd, &range, &pages, 0) < 0) {
		if (errno == EPERM) /* since Linux 6.14, 6.12.12 and 6.6.75 */
			unknown(residency, RESIDENCY_NO_PERMISSION, 0);
		else if (errno == EOPNOTSUPP) /* huge pages */
			unknown(residency, RESIDENCY_NOT_PAGE_CACHE, 0);
		else
			unknown(residency, RESIDENCY_ERROR, errno);
		return;
	}
	residency->method = RESIDENCY_CACHESTAT;
	residency->resident = residency->begun = pages.cached;
	residency->detailed = true;
	residency->dirty = pages.dirty;
	residency->writeback = pages.writeback;
	residency->evicted = pages.evicted;
	residency->recently_evicted = pages.recently_evicted;
}

/*
 * Of LENGTH bytes from OFFSET, a page boundary, at most WINDOW: pages in memory, or -1 with errno.
 * One page more is looked at: sets *ANY_ABSENT where a page of all these is not in memory.
 */
static int64_t
mincore_window(int fd, off_t offset, size_t length, bool *any_absent)
{
	unsigned char there[WINDOW / SMALL_PAGE + 1];
	size_t page = (size_t)residency_page_size(), pages = (length + page - 1) / page;
	void *address = mmap(NULL, (pages + 1) * page, PROT_READ, MAP_SHARED, fd, offset);
	int64_t resident = 0;

	if (address == MAP_FAILED)
		return -1;
	if (mincore(address, (pages + 1) * page, there) < 0)
		resident = -1;
	for (size_t i = 0; i < pages && resident >= 0; i++)
		resident += there[i] & 1;
	if (resident >= 0 && (resident < (int64_t)pages || !(there[pages] & 1)))
		*any_absent = true;
	munmap(address, (pages + 1) * page);
	return resident;
}

/*
 * Since Linux 5.2 mincore(2) says of the files of others that every page is in
 * memory, also of a page where there is none. That tells, in any user namespace, mount
 * and security module, whether it is to be believed.
 */
static bool
mincore_is_true(int fd)
{
	bool any_absent = false;

	mincore_window(fd, NOWHERE, (size_t)residency_page_size(), &any_absent);
	return any_absent;
}

void
residency_hide(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NOATIME);
}

static void
ask_mincore(int fd, uint64_t offset, uint64_t length, struct residency *residency)
{
	uint64_t page = residency_page_size(), end = offset + length;
	bool trusted = false;

	residency->method = RESIDENCY_MINCORE;
	residency->resident = 0;
	if (length)
		residency_hide(fd);
	for (uint64_t at = offset - offset % page; length && at < end; at += WINDOW) {
		uint64_t size = end - at < WINDOW ? end - at : WINDOW;
		/* one page that is absent, maybe that behind the end, proves it as well */
		int64_t resident = mincore_window(fd, (off_t)at, (size_t)size, &trusted);

		if (resident < 0) {
			unknown(residency, RESIDENCY_ERROR, errno);
			return;
		}
		if (!trusted && !mincore_is_true(fd)) {
			unknown(residency, RESIDENCY_NO_PERMISSION, 0);
			return;
		}
		trusted = true;
		residency->resident += (uint64_t)resident;
	}
	if (!residency->detailed)
		residency->begun = residency->resident;
}

/* cachestat(2) knows all but how many pages are whole; where there are none, that too. */
static void
ask_both(int fd, uint64_t offset, uint64_t length, struct residency *residency)
{
	ask_cachestat(fd, offset, length, residency);
	if (residency->method != RESIDENCY_UNKNOWN && residency->begun)
		ask_mincore(fd, offset, length, residency);
}

static bool
is_cached(int fd, enum keeping keeping)
{
	return keeping == PLAIN || (keeping != NOT_PAGES && !is_dax(fd));
}

/* Starts RESIDENCY; false where the file is not kept in the page cache. */
static bool
begin(int fd, enum keeping keeping, uint64_t offset, uint64_t length, struct residency *residency)
{
	*residency = (struct residency){ .pages = residency_pages(offset, length) };
	if (!is_cached(fd, keeping)) {
		unknown(residency, RESIDENCY_NOT_PAGE_CACHE, 0);
		return false;
	}
	return true;
}

void
residency_query(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    struct residency *residency)
{
	enum keeping keeping = keeping_of(fd, status->st_dev);

	if (!begin(fd, keeping, offset, length, residency))
		return;
	/* pages of a device may hold nothing yet but the few blocks that were asked for */
	if (keeping == ELSEWHERE || S_ISBLK(status->st_mode) || !cachestat_works())
		ask_mincore(fd, offset, length, residency);
	else if (keeping == PARTS)
		ask_both(fd, offset, length, residency);
	else
		ask_cachestat(fd, offset, length, residency);
}

void
residency_prove(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    struct residency *residency)
{
	if (begin(fd, keeping_of(fd, status->st_dev), offset, length, residency))
		ask_mincore(fd, offset, length, residency);
}
