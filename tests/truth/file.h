/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_TRUTH_FILE_H
#define HOTSET_TRUTH_FILE_H

/* A file, brought into a known state of residency that mincore confirms. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PAGE ((size_t)4096)

enum state {
	COLD,
	WARM,
	HALF,      /* the first half is in memory */
	EVERY_4TH, /* every fourth page is */
	MIXED,     /* half of the pages, at random */
};

struct file {
	char path[4096];
	int fd;
	size_t pages; /* of the file as it was made; room for twice as many */
	off_t size;
	enum state state;
	atomic_uchar *cached;  /* in memory or accessed; shared between processes */
	unsigned char *before; /* in memory by file_holds */
};

/* Makes PATH with SIZE bytes of data. */
void file_make(struct file *file, const char *path, off_t size);

/* Makes PATH as a hole of SIZE bytes. */
void file_make_sparse(struct file *file, const char *path, off_t size);

/* Brings the file into STATE and confirms it; the caller may read through fd then. */
void file_set(struct file *file, enum state state);

/* Whether PAGE of the file is in memory in its state. */
bool file_wants(const struct file *file, size_t page);

/* Whether memory still holds what file_set left; takes the truth from mincore. */
bool file_holds(struct file *file);

/* Whether what was in memory or was accessed is still there; it was evicted in between
 * where not, and the truth is unknown. */
bool file_kept(struct file *file);

/* All of the file is about to be written: what is not in memory yet is then, by no read. Nor
 * is what a read has brought in past the end, which a truncation moved meanwhile (btrfs lets it):
 * it holds nothing of the file. */
void file_overwritten(struct file *file);

/* Pages that are in memory and were not by file_holds. */
size_t file_filled(const struct file *file);

/* Whether it lies on an overlay: its pages are those of another file. */
bool file_is_overlaid(const struct file *file);

void file_remove(struct file *file);

#endif
