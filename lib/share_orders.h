/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SHARE_ORDERS_H
#define HOTSET_SHARE_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "pin.h"
#include "share.h"

/* What travels on the socket between us and a worker: a request, and one reply or more. */

enum share_order {
	SHARE_ADD,
	SHARE_RESIZE,
	SHARE_LOOK,
	SHARE_RESTORE,
	SHARE_DROP,
	SHARE_MEASURE, /* all: no items */
};

struct share_request {
	enum share_order order;
	uint32_t count;
	struct {
		struct pin_what what; /* of SHARE_ADD; its descriptor is another one there */
		uint64_t length;      /* to be locked; of SHARE_RESTORE, where to begin */
		uint32_t number;      /* of all others */
	} items[SHARE_TOGETHER];
};

/* One item for each of the request's; of SHARE_MEASURE as many as have changed. */
struct share_reply {
	uint32_t count;
	bool more, unknown; /* another one follows; it could not be measured */
	struct {
		uint64_t length, seen, first;
		uint32_t number;
		enum pin_failure failure;
		int error;
	} items[SHARE_TOGETHER];
};

/* All of these: -1 with errno. With a request of SHARE_ADD goes a descriptor for each item: FDS;
 * NULL: none. */
int share_send_request(int fd, const struct share_request *request, const int *fds);
int share_send_reply(int fd, const struct share_reply *reply);

/* Returns how many descriptors came with it, into FDS. */
int share_receive_request(int fd, struct share_request *request, int fds[SHARE_TOGETHER]);
int share_receive_reply(int fd, struct share_reply *reply);

#endif
