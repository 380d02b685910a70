/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARED_H
#define HOTSET_SHARED_H

/*
 * What the BPF programs and hitratio share. Both sides have linux/types.h before
 * this file.
 */

/* What is counted, in pages, since the probes were attached. */
enum counter {
	HITS,         /* pages that buffered reads overlapped, but for misses */
	MISSES,       /* of those pages, the first access to a filled one */
	FAULTS,       /* page faults on file mappings */
	FAULT_MISSES, /* of these, the first access to a filled page */
	MAPPED,       /* filled pages that fault-around mapped */
	STALLS,       /* of hits and misses, pages that the reader itself had to bring in */
	FILLS,        /* pages put into the cache for a read, a fault or readahead */
	WASTE,        /* filled, evicted, never accessed */
	LOST,         /* filled, but the ledger had no room */
	DIRTIES,      /* pages that went from clean to dirty */
	UNSEEN,       /* events that could not be counted at all */
	SILENT,       /* files whose reads may not be shown from here on: see traced.h */
	COUNTERS,
};

struct counters {
	__u64 of[COUNTERS];
};

/* Whose sums: everybody's, and those of the processes that --pid or a command name. */
enum scope { SCOPE_ALL, SCOPE_TARGET, SCOPES };

/*
 * The ledger: pages that were filled and not yet accessed. One entry holds 64
 * pages of one file, a bit each.
 */
struct ledger_key {
	__u64 mapping; /* address of the struct address_space */
	__u64 group;   /* page index / 64 */
};

struct ledger_entry {
	__u64 mask;
	__u64 evicted;    /* evicted since: see ledger.h */
	__u64 evicted_at; /* the latest of these, by the number of the eviction */
	__u64 dead;       /* the sweep is about to delete it: do not use it */
};

/*
 * Two tables by a hash of the mapping's address. How many pages are pending: none lets the
 * common case, a read of a file that nobody filled lately, skip the ledger. And which
 * files were being read when hitratio last looked.
 */
#define HINT_BITS 14
#define HINTS     (1 << HINT_BITS)

/* Constants of a set of programs. */
struct settings {
	__u8 twice;    /* functions have two sets of programs: see full.h */
	__u8 second;   /* this is the second */
	__u8 patient;  /* who holds a lock cannot be waiting for us: see groups_locked.h */
	__u8 listed;   /* no storage of tasks can be relied on: see reader.h */
	__u8 recovers; /* the ends of calls may go unseen: see reading.h */
	__u8 turn;     /* of several programs at a tracepoint, from 1: see was_seen; 0: of one */
	__u8 last;     /* of these */
};

/* All variables of the programs. */
struct state {
	__u64 self;      /* the address of this, set by a look */
	__u64 registers; /* where on its stack a task keeps those of its caller */
	/* set once every program is attached: one that saw a fill whose access came before
	 * the program that sees accesses would call a later access a miss */
	__u32 counting;
	__u32 has_target;
	__u32 make_room; /* the sweep deletes entries without bits */
	__u32 looks;     /* how often hitratio has looked at all tasks */
	__u64 settled;   /* evictions before the latest look */
	__u64 mended;    /* events that the first set was not shown: see was_seen */
	__u64 ledger_entries;
	__u64 set_aside; /* pages in the second masks */
	__u64 evictions; /* how often pages were set aside, ever */
	__u32 pending[HINTS];
	__u32 being_read[HINTS]; /* the number of the look that found it so */
};

#endif
