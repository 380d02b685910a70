/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PRELOAD_H
#define HOTSET_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "num.h"
#include "residency.h"

/* Brings a range of a file into the page cache, and measures what is there then. */

struct preload_hooks {
	/* Whether BYTES more may be brought in; NULL: always. */
	bool (*admit)(uint64_t bytes, void *argument);

	/* Whether that would be so now, and takes nothing; NULL: always. */
	bool (*fits)(uint64_t bytes, void *argument);

	/* Called before each BYTES are read; may wait. False: read no more. NULL: at once. */
	bool (*wait)(uint64_t bytes, void *argument);
	uint64_t chunk; /* that many are best read at once, if not fewer; 0: as preload likes */

	/* BYTES more were asked for; NULL: nobody wants to know. */
	void (*asked)(uint64_t bytes, void *argument);

	void *argument;
};

struct preload {
	enum residency_why why; /* RESIDENCY_KNOWN: the next five are measured */
	uint64_t already;       /* bytes that were in, or on their way */
	uint64_t resident;      /* bytes that mincore saw afterwards */
	uint64_t holes;         /* bytes of holes where these are not cached: see holes.h */
	uint64_t cut;           /* bytes behind the end that the file has by now */
	uint64_t skipped;       /* bytes missing that admit refused */
	uint64_t read;          /* bytes that were missing, asked for and given: each counts once */
	int error;              /* errno of what failed in reading, or 0 */
	int unmeasured;         /* errno where why is RESIDENCY_ERROR */
};

/*
 * LENGTH bytes from OFFSET of FD, which must be open for reading, and is told to
 * expect random access. Ends early where stop_asked. Never touches the file through
 * a mapping, so that one which is truncated meanwhile does no harm. Thread-safe.
 */
void preload_range(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    const struct preload_hooks *hooks, struct preload *result);

/* Adds what is known of another range of the file to SUM, which is zeroed at first. */
void preload_add(struct preload *sum, const struct preload *part);

/* Goes on with a whole file that was admitted, of which some did not come: reads that, and
 * measures. RESULT is what is known of it so far. */
void preload_rest(int fd, const struct stat *status, const struct preload_hooks *hooks,
    struct preload *result);

/* What of LENGTH bytes from OFFSET is in memory now, or on its way, into *BYTES, for who brings in
 * no more; false where it cannot be told, and SEEN says why. Thread-safe. */
bool preload_recount(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    uint64_t *bytes, struct residency *seen);

/* What is there of it only, and reads nothing: all that is missing stays so. Of HOOKS only fits is
 * asked. Thread-safe. */
void preload_look(int fd, const struct stat *status, uint64_t offset, uint64_t length,
    const struct preload_hooks *hooks, struct preload *result);

#endif
