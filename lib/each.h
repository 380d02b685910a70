/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_EACH_H
#define HOTSET_EACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "num.h"
#include "select.h"

struct list;
struct walk_entry;

/*
 * Every selected file once: operands and lists are walked in one thread, files
 * are opened and worked on in parallel, and reported on one after the other in
 * the order of the walk. Memory is bounded however large the tree, but for what walk.h says
 * and the set of the files with several names.
 */

struct each_file {
	const char *path;              /* as the user would write it */
	size_t operand;                /* number of the operand it was found below */
	size_t depth;                  /* folders between the operand and it, the operand's too */
	int fd;                        /* open for reading; -1 in report */
	struct stat status;            /* st_size of a block device is its capacity */
	uint64_t offset, length;       /* the selected range, bytes, clipped to the size */
	const struct num_range *parts; /* NULL: that range; else its own, clipped as well, and
					* length is their sum */
	size_t part_count;
	bool beyond;      /* its own parts reach behind its last page */
	const void *note; /* what each_named had on it, note_size bytes; may be NULL */
	int error;        /* errno of what failed, 0: none; the worker may set it.
	                          * ESPIPE: no file, folder or block device; EISDIR: a folder,
	                          * where only a file will do */
	void *result;     /* result_size bytes, zeroed, of the worker's own */
};

#define EACH_TOGETHER 64

struct each_run;

struct each {
	const struct select *select;
	size_t result_size, note_size;
	unsigned workers; /* 0: as many as there are processors */
	bool in_order;    /* of the names in each folder; else as they are found */
	bool by_place;    /* as files lie on the disk, roughly: see walk.h */
	bool only_files;  /* each_named names no block devices: what has become one is not opened */

	/* Where set: whether a file that was found in a folder has to be open for work, as its
	 * STATUS tells. What need not has fd -1, and is never said to be unreadable. */
	bool (*opens)(const struct stat *status);

	/* Where set, in a worker thread, before any work on a file: may set its error, so that
	 * nobody works on it, or have it as a whole (parts NULL, and the range). */
	void (*look)(struct each_file *file, void *argument);

	/* In a worker thread, one file: fills in file->result. Not called where
	 * the file could not be opened. Called for each hard link, of which only the
	 * first in order is reported. */
	void (*work)(struct each_file *file, void *argument);

	/* Of a file of several names, one is worked on, and what came of it is the result of the
	 * others that come at about the same time. */
	bool shares;

	/* Where set: whether FILE, which is open, is worked on together with others like it, by
	 * work_together (COUNT of them, at most EACH_TOGETHER), which is called before long. */
	bool (*gathers)(const struct each_file *file, void *argument);
	void (*work_together)(struct each_file *const *files, size_t count, void *argument);

	/* Frees what a result holds, in any thread, before its memory is used again; may be
	 * NULL, and RESULT may never have been worked on. */
	void (*release)(void *result);

	/* Where set, this finds the files of an operand, which then is but a name: in the thread
	 * of the walk, by each_found, each_named and each_failed. */
	void (*find)(size_t operand, struct each_run *run, void *argument);

	/* Where set, this reads the list of select->files_from, in the thread of the walk: as
	 * list_next, into the path and the parts of ENTRY, which is zeroed; what has no parts is
	 * walked. */
	int (*next)(struct list *list, struct walk_entry *entry, void *argument);

	/* In the caller's thread, in order: files, and whatever failed (error set,
	 * also a folder that could not be read). */
	void (*report)(const struct each_file *file, void *argument);

	/* In the caller's thread, after all that is below a folder, which is DEPTH folders
	 * below the operand (the operand itself: 0); may be NULL. */
	void (*folder_done)(size_t operand, const char *path, size_t depth, void *argument);

	/* In the caller's thread, instead of report where a file was reported under another name;
	 * may be NULL. */
	void (*repeated)(size_t operand, void *argument);

	/* In the caller's thread, after all of an operand's files; may be NULL. */
	void (*operand_done)(size_t operand, const char *name, void *argument);

	/* In the caller's thread, each tenth of a second at least, between reports: false ends it
	 * early. May be NULL. */
	bool (*breathe)(void *argument);

	void *argument;
};

/*
 * Walks OPERANDS (COUNT of them, then the list of select->files_from, whose names
 * are operands too but number together as operand COUNT, named by the list).
 * Stops early where stop_asked, or where breathe says so. Returns 0, or -1 with errno where nothing could be
 * done at all (no memory, the list cannot be read). After a stop, 1 where a thread hangs
 * in the kernel: it may be in work, and come back at any time. Then argument, operands
 * and select must stay until the process ends, and a lock that work takes may be taken
 * for ever.
 */
int each_run(const struct each *each, char **operands, size_t count);

/* How many files WORKERS may have worked on before the first of them is reported, at most. */
size_t each_ahead(unsigned workers);

/* For find: whether to go on; to be asked before what may take long. */
bool each_go_on(struct each_run *run);

/* For find: a regular file called PATH, open for whatever (O_PATH); takes over FD. */
void each_found(struct each_run *run, const char *path, int fd);

/*
 * For find: a file by its name, to be opened in a worker as an operand is, or, where
 * it lies in entry->folder, as what is found there is. Whatever keeps it from being opened is
 * reported, also what entry->error tells. Parts and note are copied. The globs of select are
 * about it too.
 */
void each_named(struct each_run *run, const struct walk_entry *entry);

/* For find: what comes next shall not be worked on before, or together with, what has come so
 * far, as long as there is one worker. */
void each_cut(struct each_run *run);

/* For find: something that failed. */
void each_failed(struct each_run *run, const char *path, int error);

/* Reports that each_run could not be done for ERROR, and what would mend it. */
void each_explain(const struct each *each, int error);

/* What FILE's error means, and what would mend it where a limit was hit. */
const char *each_error(const struct each_file *file);

#endif
