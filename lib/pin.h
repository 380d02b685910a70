/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PIN_H
#define HOTSET_PIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files kept in memory: each is mapped and mlocked, and never touched through the
 * mapping, so that one which is truncated meanwhile cannot hurt us. The pages stay
 * until they are unmapped, whatever ends us. A child that is not to keep what we let go releases its copy. Not thread-safe.
 */

#define PIN_UNKNOWN UINT64_MAX

struct pin {
	void *address;   /* NULL: not in use */
	uint64_t mapped; /* bytes, whole pages */
	uint64_t length; /* of these, locked, from the start */
	uint64_t seen;   /* of these, in memory when last measured; at first mlock's word */
};

struct pins {
	const atomic_bool *halt; /* nothing more is locked while it is set; NULL: never */

	struct pin *list;
	size_t count, size;
	uint32_t *unused; /* numbers, to be used again */
	size_t unused_count, unused_size;
};

enum pin_failure {
	PIN_DONE,
	PIN_MAPS,    /* vm.max_map_count: one mapping a file */
	PIN_SPACE,   /* RLIMIT_AS: the address space of a process */
	PIN_LIMIT,   /* RLIMIT_MEMLOCK */
	PIN_SHRANK,  /* the file became shorter meanwhile */
	PIN_STOPPED, /* stop_asked */
	PIN_WORKER,  /* the process that was to hold it is gone */
	PIN_ERROR,   /* errno */
};

/* What is to be pinned: LENGTH bytes from START of FD, whole pages, which the file has up to byte
 * END. */
struct pin_what {
	int fd;
	uint64_t start, length, end;
};

/* All pages that LENGTH bytes from OFFSET of FD touch. */
struct pin_what pin_pages(int fd, uint64_t offset, uint64_t length);

/*
 * Pins the first *LOCKED bytes of it, and sets that to how many are: fewer where it was halted,
 * 0 where it was from the beginning. Where it fails, none is. Sets *NUMBER.
 */
enum pin_failure
pins_add(struct pins *pins, const struct pin_what *what, uint64_t *locked, uint32_t *number);

/*
 * Pins COUNT of them as a whole, side by side, so that one call locks them all: as many calls by
 * several threads wait for each other. Sets NUMBERS. False where that fails for any, or is too
 * much for one step: then none is pinned, and may be by itself.
 */
bool
pins_add_together(struct pins *pins, const struct pin_what *whats, size_t count, uint32_t *numbers);

/*
 * Pins *LENGTH bytes of it from now on, not 0, and sets that to how many are then. To pin less
 * reads nothing. To pin more locks what is new only; where that fails, so much is held as did
 * not. Into *SEEN what of it is in memory, as last measured and locked since.
 */
enum pin_failure pins_resize(struct pins *pins, uint32_t number, uint64_t *length, uint64_t *seen);

/* What of it is in memory now, and in *FIRST, if not NULL, how much there is before the first that
 * is not. PIN_UNKNOWN where the kernel does not tell. */
uint64_t pins_look(struct pins *pins, uint32_t number, uint64_t *first);

/* Brings in again what of it has gone, from byte FIRST on. */
enum pin_failure pins_restore(struct pins *pins, uint32_t number, uint64_t first);

void pins_drop(struct pins *pins, uint32_t number);

/*
 * Measures how many bytes of each pin are in memory now and mapped by us, hence pinned: what was
 * truncated, punched out or overwritten around the cache is not, though VmLck still
 * counts it. Calls CHANGED for each of which it is another number than when last measured. 0, or
 * -1 with errno where the kernel does not tell.
 */
int pins_measure(struct pins *pins, void (*changed)(uint32_t number, uint64_t seen, void *argument),
    void *argument);

/* Unpins all, and frees. */
void pins_release(struct pins *pins);

#endif
