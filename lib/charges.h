/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CHARGES_H
#define HOTSET_CHARGES_H

#include <stdint.h>

#include "owners.h"

/*
 * Which memory cgroup each page of a file is charged to, as /proc/kpagecgroup tells who may
 * see the numbers of page frames: CAP_SYS_ADMIN.
 */
struct charges {
	int groups;  /* /proc/kpagecgroup */
	int pagemap; /* of ourselves */
};

enum charges_failure {
	CHARGES_OPEN,
	CHARGES_KERNEL,     /* it has no /proc/kpagecgroup */
	CHARGES_PRIVILEGE,  /* that, or the number of a page frame, is not for us */
	CHARGES_UNREADABLE, /* errno */
};

enum charges_failure charges_open(struct charges *charges);

/*
 * Adds to OWNERS each page in memory of LENGTH bytes from OFFSET of FD: OWNERS_NONE where
 * it is charged to nobody, or left before that could be seen. Only where residency_prove knows. No
 * page is read: only what is in memory is mapped, for a moment. -1 with errno: EINTR where
 * stop_asked. Thread-safe.
 */
int charges_count(const struct charges *charges, int fd, uint64_t offset, uint64_t length,
    struct owners *owners);

#endif
