/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "share_ask.h"
#include "share_orders.h"
#include "share_staff.h"
#include "share_worker.h"
#include "sysctl.h"

#define MAPS_DEFAULT 65530
#define MAPS_OTHERS  2048 /* stacks, heaps, and what is mapped to be loaded */

/* As share_ask, of one; what it failed with is in the reply then. */
static void
ask_one(struct shares *shares, struct share_place place, struct share_request *request,
    struct share_reply *reply)
{
	struct share *share = shares->list[place.share];

	request->count = 1;
	request->items[0].number = place.number;
	reply->items[0].first = 0;
	pthread_mutex_lock(&share->lock);
	if (share->own)
		share_obey(&share->pins, request, NULL, 0, reply);
	else if (share_ask(shares, share, request, NULL, reply) < 0) {
		reply->items[0].failure = errno == ECONNRESET ? PIN_WORKER : PIN_ERROR;
		reply->items[0].error = errno;
		reply->items[0].length = reply->items[0].seen = PIN_UNKNOWN;
	}
	pthread_mutex_unlock(&share->lock);
}

size_t
shares_most(void)
{
	uint64_t most = sysctl_number("vm/max_map_count", MAPS_DEFAULT);

	return (size_t)(most > 2 * MAPS_OTHERS ? most - MAPS_OTHERS : most / 2 + 1);
}

int
shares_begin(struct shares *shares, uint64_t files)
{
	struct share *own;
	uint64_t room;

	shares->main = pthread_self();
	shares->most = shares_most();
	pthread_mutex_init(&shares->lock, NULL);
	shares->halt = mmap(NULL, sizeof *shares->halt, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shares->halt == MAP_FAILED) {
		shares->halt = NULL;
		return -1;
	}
	own = share_new(shares);
	if (!own)
		return -1;
	own->own = true;
	own->dead = false;
	own->pins.halt = shares->halt;
	/* what cannot be started is missed where there is no room */
	while (shares->most > SHARE_TOGETHER && shares->count < shares_needed(files, &room))
		if (shares_grow(shares) < 0)
			break;
	return 0;
}

void
shares_halt(struct shares *shares, bool halt)
{
	if (shares->halt)
		atomic_store(shares->halt, halt);
}

bool
shares_halted(const struct shares *shares)
{
	return shares->halt && atomic_load_explicit(shares->halt, memory_order_relaxed);
}

/* The one that has most room, for COUNT more. */
static uint32_t
choose(struct shares *shares, size_t count)
{
	uint32_t best = UINT32_MAX;

	pthread_mutex_lock(&shares->lock);
	for (uint32_t i = 0; i < shares->count; i++) {
		const struct share *share = shares->list[i];

		if (!share->dead && share->used + count <= shares->most &&
		    (best == UINT32_MAX || share->used < shares->list[best]->used))
			best = i;
	}
	if (best != UINT32_MAX)
		shares->list[best]->used += count;
	pthread_mutex_unlock(&shares->lock);
	return best;
}

static void
unuse(struct shares *shares, struct share *share)
{
	pthread_mutex_lock(&shares->lock);
	share->used--;
	pthread_mutex_unlock(&shares->lock);
}

static void
add(const struct shares *shares, struct share *share, struct share_item *items, size_t count)
{
	struct share_request request = { .order = SHARE_ADD, .count = (uint32_t)count };
	int fds[SHARE_TOGETHER], error = 0;
	struct share_reply reply;

	for (size_t i = 0; i < count; i++) {
		request.items[i].what = items[i].what;
		request.items[i].length = items[i].locked;
		fds[i] = items[i].what.fd;
	}
	if (share->own)
		share_obey(&share->pins, &request, fds, (int)count, &reply);
	else if (share_ask(shares, share, &request, fds, &reply) < 0)
		error = errno;
	for (size_t i = 0; i < count; i++) {
		items[i].failure = !error ? reply.items[i].failure
		    : error == ECONNRESET ? PIN_WORKER
					  : PIN_ERROR;
		items[i].error = error ? error : reply.items[i].error;
		items[i].locked = error ? 0 : reply.items[i].length;
		items[i].place.number = error ? UINT32_MAX : reply.items[i].number;
	}
}

void
shares_add(struct shares *shares, struct share_item *items, size_t count)
{
	uint32_t number = choose(shares, count);
	struct share *share = number == UINT32_MAX ? NULL : shares->list[number];

	if (share) {
		pthread_mutex_lock(&share->lock);
		add(shares, share, items, count);
		pthread_mutex_unlock(&share->lock);
	}
	for (size_t i = 0; i < count; i++) {
		if (!share)
			items[i].failure = PIN_MAPS;
		items[i].place.share = number;
		if (items[i].failure == PIN_DONE && items[i].locked > 0)
			continue;
		items[i].place = SHARE_NOWHERE;
		items[i].locked = 0;
		if (share)
			unuse(shares, share);
	}
}

enum pin_failure
shares_resize(struct shares *shares, struct share_place place, uint64_t *length, uint64_t *seen)
{
	struct share_request request = { .order = SHARE_RESIZE };
	struct share_reply reply;

	request.items[0].length = *length;
	ask_one(shares, place, &request, &reply);
	*length = reply.items[0].length;
	*seen = reply.items[0].seen;
	errno = reply.items[0].error;
	return reply.items[0].failure;
}

uint64_t
shares_look(struct shares *shares, struct share_place place, uint64_t *first)
{
	struct share_request request = { .order = SHARE_LOOK };
	struct share_reply reply;

	ask_one(shares, place, &request, &reply);
	*first = reply.items[0].first;
	return reply.items[0].seen;
}

enum pin_failure
shares_restore(struct shares *shares, struct share_place place, uint64_t first)
{
	struct share_request request = { .order = SHARE_RESTORE };
	struct share_reply reply;

	request.items[0].length = first;
	ask_one(shares, place, &request, &reply);
	errno = reply.items[0].error;
	return reply.items[0].failure;
}

void
shares_drop(struct shares *shares, struct share_place place)
{
	struct share_request request = { .order = SHARE_DROP };
	struct share_reply reply;

	if (place.share == UINT32_MAX)
		return;
	ask_one(shares, place, &request, &reply);
	/* what does not hear of it must not hold it */
	if (reply.items[0].failure == PIN_ERROR)
		share_give_up(shares->list[place.share]);
	unuse(shares, shares->list[place.share]);
}

void
shares_release(struct shares *shares)
{
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];

		share_end_worker(shares, share);
		pins_release(&share->pins);
		free(share->tags);
		free(share);
	}
	free(shares->list);
	/* what holds the files' memory goes before us, unless it hangs */
	for (int i = 0; i < 100 && share_any_ending(shares); i++)
		poll(NULL, 0, 10);
	if (shares->halt)
		munmap(shares->halt, sizeof *shares->halt);
	*shares = (struct shares){ .news = -1 };
}
