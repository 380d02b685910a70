/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_RESIDENCY_H
#define HOTSET_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* How many pages of a file are in the page cache, and how that is known. */

enum residency_method {
	RESIDENCY_UNKNOWN = 0, /* nobody may tell us: see why */
	RESIDENCY_CACHESTAT,   /* cachestat(2), Linux 6.5 */
	RESIDENCY_MINCORE,
};

enum residency_why { /* of RESIDENCY_UNKNOWN */
	RESIDENCY_KNOWN = 0,
	RESIDENCY_NO_PERMISSION,  /* that is for who may write it, owns it, or has CAP_FOWNER */
	RESIDENCY_NOT_PAGE_CACHE, /* hugetlbfs, DAX, ZFS, sysfs: not kept in the page cache */
	RESIDENCY_ERROR,          /* errno in error */
};

struct residency {
	enum residency_method method;
	enum residency_why why;
	int error;
	uint64_t pages;    /* of the range asked about */
	uint64_t resident; /* of these, in memory; with cachestat also those still being read */
	uint64_t begun;    /* the same, with pages of which only some blocks are, as far as known */
	bool detailed;     /* the next four are known: cachestat only */
	uint64_t dirty, writeback, evicted, recently_evicted;
};

/*
 * Looks at LENGTH bytes from OFFSET (within the file's size) of FD. Chooses the
 * method: mincore where cachestat is missing (ENOSYS), blocked by a sandbox
 * (EPERM) or blind (overlayfs, FUSE passthrough), or counts pages that hold nothing (block
 * devices) or only a part (blocks smaller than a page, network file systems), and then only
 * where mincore tells us the truth. Thread-safe. May set O_NOATIME on FD.
 */
void residency_query(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    struct residency *residency);

/*
 * As residency_query with mincore only: cachestat counts pages that are still
 * being read, so only mincore proves that a page is in.
 */
void residency_prove(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    struct residency *residency);

/* Has looks at FD through a mapping leave no access time; only owners can (O_NOATIME). */
void residency_hide(int fd);

/* "cachestat", "mincore" or "unknown". */
const char *residency_method_name(enum residency_method method);

/* Bytes in a page, and pages that LENGTH bytes from OFFSET touch. */
uint64_t residency_page_size(void);
uint64_t residency_pages(uint64_t offset, uint64_t length);

#endif
