/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PIN_H
#define HOTSET_PIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Files kept in memory: each is mapped and mlocked, and never touched through the
 * mapping, so that one which is truncated meanwhile cannot hurt us. The pages stay
 * until they are unmapped, whatever ends us. Not thread-safe.
 */

#define PIN_UNKNOWN UINT64_MAX

struct pin {
	void *address;   /* NULL: not in use */
	uint64_t length; /* bytes mapped, whole pages */
	uint64_t seen;   /* bytes pinned when last measured */
};

struct pins {
	struct pin *list;
	size_t count, size;
	uint32_t *unused; /* numbers, to be used again */
	size_t unused_count, unused_size;
};

enum pin_failure {
	PIN_DONE,
	PIN_MAPS,    /* vm.max_map_count: one mapping a file */
	PIN_SPACE,   /* RLIMIT_AS: the address space of a process */
	PIN_SHRANK,  /* the file became shorter meanwhile */
	PIN_STOPPED, /* stop_asked */
	PIN_WORKER,  /* the process that was to hold it is gone */
	PIN_ERROR,   /* errno */
};

/*
 * Pins LENGTH bytes from START of FD, whole pages, which the file has up to byte END. A file
 * that cannot be pinned as a whole is not pinned at all. Sets *NUMBER.
 */
enum pin_failure pins_add(struct pins *pins, int fd, uint64_t start, uint64_t length, uint64_t end,
    uint32_t *number);

/*
 * The file has, or shall be held for, LENGTH bytes now, not 0: maps them, and locks what of
 * them is not. What fails leaves what was held. Into *SEEN what was pinned right before;
 * PIN_UNKNOWN where the kernel does not tell.
 */
enum pin_failure pins_fit(struct pins *pins, uint32_t number, uint64_t length, uint64_t *seen);

void pins_drop(struct pins *pins, uint32_t number);

/*
 * Measures how many bytes of each pin are in memory now and mapped by us, hence pinned: what was
 * truncated, punched out or overwritten around the cache is not, though VmLck still
 * counts it. Calls CHANGED for each of which it is another number than when last measured. 0, or
 * -1 where the kernel does not tell.
 */
int pins_measure(struct pins *pins, void (*changed)(uint32_t number, uint64_t seen, void *argument),
    void *argument);

/* Unpins all, and frees. */
void pins_release(struct pins *pins);

#endif
