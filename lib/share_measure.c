/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share_ask.h"
#include "share_orders.h"

int
shares_tag(struct shares *shares, struct share_place place, uint32_t tag)
{
	struct share *share = shares->list[place.share];

	if (place.number >= share->tag_count) {
		size_t count = 2 * (size_t)place.number + 64;
		uint32_t *tags = realloc(share->tags, count * sizeof *tags);

		if (!tags)
			return -1;
		memset(tags + share->tag_count, 0xff, (count - share->tag_count) * sizeof *tags);
		share->tags = tags;
		share->tag_count = count;
	}
	share->tags[place.number] = tag;
	return 0;
}

/* Whose changes they are. */
struct measuring {
	const struct share *share;
	void (*changed)(uint32_t tag, uint64_t seen, void *argument);
	void *argument;
};

static void
pass_on(uint32_t number, uint64_t seen, void *argument)
{
	const struct measuring *measuring = argument;

	if (number < measuring->share->tag_count && measuring->share->tags[number] != UINT32_MAX)
		measuring->changed(measuring->share->tags[number], seen, measuring->argument);
}

/* With the lock of the share: whether an answer is to come. */
static bool
ask_to_measure(struct share *share)
{
	struct share_request request = { .order = SHARE_MEASURE };

	if (share->own || share->dead)
		return false;
	if (share_send_request(share->fd, &request, NULL) == 0)
		return true;
	if (errno == EPIPE || errno == ECONNRESET)
		share_give_up(share);
	return false; /* else the next time */
}

/* With the lock of the share. 0 as well where it dies meanwhile: shares_reap tells. */
static int
receive_measures(const struct shares *shares, struct share *share, struct measuring *measuring)
{
	struct share_reply reply = { .more = true };

	while (reply.more) {
		if (share_await(shares, share, &reply) < 0) {
			share_give_up(share);
			return 0;
		}
		for (uint32_t i = 0; i < reply.count; i++)
			pass_on(reply.items[i].number, reply.items[i].seen, measuring);
	}
	return reply.unknown ? -1 : 0;
}

/* All at the same time: who is asked has its lock held until it has answered. */
int
shares_measure(struct shares *shares, void (*changed)(uint32_t tag, uint64_t seen, void *argument),
    void *argument)
{
	bool asked[SHARE_WORKERS + 1];
	int result = 0;

	for (uint32_t i = 0; i < shares->count; i++) {
		pthread_mutex_lock(&shares->list[i]->lock);
		asked[i] = ask_to_measure(shares->list[i]);
	}
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];
		struct measuring measuring = { share, changed, argument };

		if (share->own && pins_measure(&share->pins, pass_on, &measuring) < 0)
			result = -1;
		if (asked[i] && receive_measures(shares, share, &measuring) < 0)
			result = -1;
		pthread_mutex_unlock(&share->lock);
	}
	return result;
}
