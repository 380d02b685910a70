/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PRESSURE_H
#define HOTSET_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "psi.h"

/*
 * Whether memory is tight now: tasks wait for it, on the machine while little is free, or in our
 * own memory cgroup (of version 2: version 1 does not tell). Where the machine does not tell how
 * long tasks wait, whether little is available.
 */

enum pressure_why {
	PRESSURE_NONE,      /* it is not tight, as far as can be told */
	PRESSURE_MACHINE,   /* tasks wait for it, and little is free */
	PRESSURE_GROUP,     /* those in our cgroup do */
	PRESSURE_AVAILABLE, /* little is left */
};

struct pressure_stalls {
	char *path;        /* what tells them; NULL: nothing */
	struct psi before; /* at the last look */
	uint64_t time;     /* of that */
};

struct pressure {
	enum pressure_why why; /* at the last look */
	double percent;        /* of the time before it, in which a task waited */
	uint64_t available;    /* bytes */
	char *group;           /* the cgroup's folder; NULL: it does not tell */

	/* its own */
	struct pressure_stalls machine, members;
	char *meminfo;
	uint64_t next; /* no look before that */
};

/* How long it takes until a look shows something new, in ns. */
#define PRESSURE_WINDOW 500000000ULL

/*
 * Begins at NOW (stop_now), below ROOT ("" but in tests); the cgroup is the one that the
 * process is in by now. Returns 0, or -1 with ENOMEM.
 */
int pressure_begin(struct pressure *pressure, const char *root, uint64_t now);
void pressure_free(struct pressure *pressure);

/* Whether the kernel tells anything of it: else it never is tight. */
bool pressure_known(const struct pressure *pressure);

/* Whether it is tight at NOW: of the time since the last look, which lasts for the window.
 * Not thread-safe. */
bool pressure_tight(struct pressure *pressure, uint64_t now);

/* Why it is tight, for messages: "tasks waited 31% of the time", into TEXT; returns TEXT. */
#define PRESSURE_WORDS 512
char *pressure_words(const struct pressure *pressure, char text[static PRESSURE_WORDS]);

#endif
