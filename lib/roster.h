/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ROSTER_H
#define HOTSET_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "index.h"
#include "share.h"

/*
 * The files that lock is to hold, each in the folder that it is found in: found by name, since
 * that is what was asked for, and by inode, of which each is pinned once. Numbers of files and
 * folders stay, and are used again.
 */

#define ROSTER_NONE INDEX_NONE

struct roster_folder {
	char *path;     /* as the user would write it; NULL: not in use */
	uint32_t owner; /* operand that new files in it are of; ROSTER_NONE: they are not wanted */
	uint32_t files; /* of the roster in it */
	int watch;      /* of notice; -1: none */
	uint64_t device, inode; /* that the path was when last looked at; 0: nothing */
	uint64_t changed;       /* st_mtime in ns of then */
	bool root;  /* it is wanted, or a file in it is, even where it goes and comes back */
	bool mute;  /* no watch tells all that happens in it */
	bool stale; /* all that is in it shall be looked at again */
};

struct roster_file {
	char *name; /* NULL: not in use */
	uint32_t folder, owner;
	uint64_t sequence;      /* the earlier it was added, the lower */
	uint64_t device, inode; /* as it was opened last; 0: it is not there */
	uint64_t size, changed; /* st_size, and st_ctime in ns, of then */
	uint64_t length;        /* bytes that shall be pinned, whole pages */
	uint64_t held;          /* of these, mapped and locked: what mlock says */
	uint64_t pinned;        /* of these, in memory and mapped, as last measured */
	uint64_t owed;          /* bytes that were lost or given back, and not pinned again */
	uint64_t retry, pause; /* where it failed: when it is tried again, and how long it waited */
	struct share_place place;
	bool named;   /* by the user, who wants whatever is called so */
	bool alias;   /* another name of the same file is held */
	bool look;    /* nobody tells when it changes */
	bool dirty;   /* to be opened again */
	bool counted; /* among the files of its operand */
	bool failed;  /* it could not be pinned as a whole */
	bool crowded; /* since that is more than is allowed */
	bool said;    /* that it could not be */
	bool upper;   /* in the upper layer of an overlay, as it was opened last */
};

struct roster {
	struct roster_folder *folders;
	struct roster_file *files;
	size_t folder_count, file_count; /* numbers given so far */

	/* its own */
	size_t folder_size, file_size;
	struct roster_numbers {
		uint32_t *list;
		size_t count, size;
	} free_folders, free_files, order;
	uint64_t sequence;
	bool ordered;
	uint32_t last; /* folder that was asked for last */
	struct hash_key key;
	struct index by_path, by_watch, by_name, by_inode;
};

void roster_begin(struct roster *roster);
void roster_free(struct roster *roster);

/* The folder called PATH (LENGTH bytes, slashes at its end do not count): added where ADD, and
 * then ROSTER_NONE with ENOMEM. */
uint32_t roster_folder(struct roster *roster, const char *path, size_t length, bool add);

/* Which must have no files. */
void roster_remove_folder(struct roster *roster, uint32_t folder);

/* Sets what its watch is; -1 with ENOMEM. */
int roster_watch(struct roster *roster, uint32_t folder, int watch);

/* As index_next: the folders of a watch. */
uint32_t roster_watched(const struct roster *roster, int watch, size_t *at);

/* Where the name of PATH starts, and the length of its folder's part in *LENGTH; that of "a"
 * is 0, and its folder ".". */
const char *roster_split(const char *path, size_t *length);

/* The file NAME in FOLDER, or ROSTER_NONE. */
uint32_t roster_find(const struct roster *roster, uint32_t folder, const char *name);

/* The file of that inode which is pinned, or shall be; ROSTER_NONE where there is none. */
uint32_t roster_inode(const struct roster *roster, uint64_t device, uint64_t inode);

/* As index_next: all names of an inode. */
uint32_t roster_names(const struct roster *roster, uint64_t device, uint64_t inode, size_t *at);

/* All files by operand, and in the order in which they came; NULL with ENOMEM. Valid until one is
 * added or removed. */
const uint32_t *roster_order(struct roster *roster, size_t *count);

/* Adds a file, of which only these are set; ROSTER_NONE with ENOMEM. */
uint32_t roster_add(struct roster *roster, uint32_t folder, const char *name, uint32_t owner,
    uint64_t device, uint64_t inode);

/* The name stands for another inode. -1 with ENOMEM. */
int roster_replace(struct roster *roster, uint32_t file, uint64_t device, uint64_t inode);
void roster_remove(struct roster *roster, uint32_t file);

/* The path of a file, to be freed; NULL with ENOMEM. */
char *roster_path(const struct roster *roster, uint32_t file);

/* The same for NAME in FOLDER. */
char *roster_join(const struct roster *roster, uint32_t folder, const char *name);

#endif
