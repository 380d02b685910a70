/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PIN_H
#define HOTSET_PIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Files kept in memory: each is mapped and mlocked, and never touched through the
 * mapping, so that one which is truncated meanwhile cannot hurt us. The pages stay
 * until they are unmapped, whatever ends us. Not thread-safe.
 */

#define PIN_UNKNOWN UINT64_MAX

struct pin {
	void *address;
	uint64_t length; /* bytes mapped, whole pages */
	uint64_t device, inode;
	size_t owner; /* what the caller counts it for */
};

struct pins {
	struct pin *list;
	size_t count, size;
};

enum pin_failure {
	PIN_DONE,
	PIN_MAPS,    /* vm.max_map_count: one mapping a file */
	PIN_SPACE,   /* RLIMIT_AS: the address space of a process */
	PIN_SHRANK,  /* the file became shorter meanwhile */
	PIN_STOPPED, /* stop_asked */
	PIN_ERROR,   /* errno */
};

/*
 * Pins the pages of LENGTH bytes from OFFSET of FD for OWNER. A file that cannot be
 * pinned as a whole is not pinned at all.
 */
enum pin_failure pins_add(struct pins *pins, int fd, const struct stat *status, uint64_t offset,
    uint64_t length, size_t owner);

/* The pin of an inode, NULL where there is none. */
struct pin *pins_find(const struct pins *pins, uint64_t device, uint64_t inode);

/*
 * How many bytes of PIN are in memory now and mapped by us, hence pinned: what was
 * truncated, punched out or overwritten around the cache is not, though VmLck still
 * counts it. PIN_UNKNOWN where the kernel does not tell.
 */
uint64_t pin_measure(const struct pin *pin);

/* Unpins all, and frees. */
void pins_release(struct pins *pins);

#endif
