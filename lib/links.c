/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "links.h"

#include <stdlib.h>

#define FIRST_SIZE 64 /* a power of two */

/* The slot that holds the inode, or the empty one (0, 0) where it belongs. */
static struct links_inode *
find(const struct links *links, uint64_t device, uint64_t inode)
{
	uint64_t hash = (inode ^ device << 32 ^ device >> 32) * 0x9e3779b97f4a7c15ULL;
	size_t at = (size_t)(hash >> 20) & (links->size - 1);

	while ((links->slots[at].inode || links->slots[at].device) &&
	    (links->slots[at].inode != inode || links->slots[at].device != device))
		at = (at + 1) & (links->size - 1);
	return &links->slots[at];
}

static int
grow(struct links *links)
{
	struct links larger = { .size = links->size ? 2 * links->size : FIRST_SIZE };

	larger.slots = calloc(larger.size, sizeof *larger.slots);
	if (!larger.slots)
		return -1;
	for (size_t i = 0; i < links->size; i++) {
		struct links_inode *old = &links->slots[i];

		if (old->inode || old->device)
			*find(&larger, old->device, old->inode) = *old;
	}
	larger.count = links->count;
	free(links->slots);
	*links = larger;
	return 0;
}

bool
links_has(const struct links *links, uint64_t device, uint64_t inode)
{
	const struct links_inode *slot = links->size ? find(links, device, inode) : NULL;

	return slot && (slot->inode || slot->device);
}

int
links_add(struct links *links, uint64_t device, uint64_t inode)
{
	struct links_inode *slot;

	if (links->count >= links->size / 4 * 3 && grow(links) < 0)
		return -1;
	slot = find(links, device, inode);
	if (slot->inode || slot->device)
		return 0;
	*slot = (struct links_inode){ device, inode };
	links->count++;
	return 1;
}

void
links_free(struct links *links)
{
	free(links->slots);
	*links = (struct links){ 0 };
}
