/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_VALVE_H
#define HOTSET_VALVE_H

#include <stdbool.h>
#include <stdint.h>

#include "pressure.h"

/*
 * When pinned memory is to be given back, and how much of it: before the kernel has nothing left
 * to take and kills; and when it may be pinned again. What is available counts before tasks wait
 * for it (pressure.h), which they begin to when it is late.
 */

struct valve {
	bool tight; /* at the last look */

	/* its own */
	struct pressure pressure;
	char *meminfo;
	const char *root;
	uint64_t quiet_time, wait; /* ns; as was asked for, and as it is by now */
	uint64_t tight_at;         /* when it was last */
	uint64_t next;             /* no look before that */
	uint64_t stalled_at;       /* when something was last given back since tasks waited */
	bool again;                /* something was pinned again since it was tight */
	uint64_t pinned;           /* when last asked */
	uint64_t hidden;           /* bytes that are pinned, and look as if they could go */
	uint64_t kills;            /* of the OOM killer, so far */
	char words[PRESSURE_WORDS];
};

/*
 * So much is to stay available on the machine, and below the limit of a cgroup: what grows by
 * 20 MiB/s takes seconds for it where there are 512 MiB. Twice that is to be left where something
 * is pinned again, so that this does not bring about the next release.
 */
#define VALVE_KEEPS(total) ((total) / 16 < VALVE_MOST ? (total) / 16 : VALVE_MOST)
#define VALVE_MOST         (1ULL << 30)

/* So much is given back at least, and pinned again at most, in one step. */
#define VALVE_LEAST (1ULL << 20)
#define VALVE_STEP  (64ULL << 20)

/* Begins at NOW, below ROOT ("" but in tests). -1 with ENOMEM. */
int valve_begin(struct valve *valve, const char *root, uint64_t quiet_time, uint64_t now);
void valve_free(struct valve *valve);

/* How many bytes are to be given back at NOW, of PINNED (as measured, each page once; 0: not
 * known); 0: none. Sets next, when to look again;
 * before that, nothing is new. */
uint64_t valve_release(struct valve *valve, uint64_t now, uint64_t pinned);

/* How many bytes may be pinned again at NOW. */
uint64_t valve_repin(struct valve *valve, uint64_t now);

/* One of our processes was killed: whether it was for want of memory. Then it is tight. */
bool valve_killed(struct valve *valve, uint64_t now);

/* Why it was tight last. */
const char *valve_why(const struct valve *valve);

#endif
