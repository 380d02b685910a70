/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARE_WORKER_H
#define HOTSET_SHARE_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "pin.h"
#include "share_orders.h"

/* What a worker does: as it is told, with pins of its own. */

/* Does what REQUEST says, but for SHARE_MEASURE, with PINS, and FD_COUNT descriptors: not closed
 * here. Also of use where no worker is needed. */
void share_obey(struct pins *pins, const struct share_request *request, const int *fds,
    int fd_count, struct share_reply *reply);

/*
 * For a child that was just forked: becomes a worker of PARENT, that does what comes on FD until
 * that is closed, or PARENT ends; never returns. INHERITED: pins of PARENT, which it must not
 * keep; HALT: as of its own.
 */
_Noreturn void share_work(int fd, pid_t parent, struct pins *inherited, const atomic_bool *halt);

#endif
