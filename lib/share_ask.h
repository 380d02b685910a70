/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARE_ASK_H
#define HOTSET_SHARE_ASK_H

#include "share.h"
#include "share_orders.h"

/* How a worker is asked, and what becomes of one that does not answer; all with the lock of its
 * share. */

/* It answers no more, and is ended. */
void share_give_up(struct share *share);

/* Waits for a reply, as long as a worker may take. -1 where there is none. */
int share_await(const struct shares *shares, const struct share *share, struct share_reply *reply);

/* Sends REQUEST, with FDS as share_send_request, and waits for the reply. -1 with errno:
 * ECONNRESET where the worker is gone, or given up; else it is well, and has not heard of it. */
int share_ask(const struct shares *shares, struct share *share, const struct share_request *request,
    const int *fds, struct share_reply *reply);

#endif
