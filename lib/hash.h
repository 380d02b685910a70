/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_HASH_H
#define HOTSET_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * A number for bytes that whoever chose them cannot foresee, as long as the key is secret:
 * SipHash-1-3. Names are hostile: with a plain sum they could all be made to meet in a table.
 */
struct hash_key {
	uint64_t words[2];
};

/* A key of this run; what there is to be had at boot, too. */
void hash_begin(struct hash_key *key);

uint64_t hash_of(const struct hash_key *key, const void *bytes, size_t length);

#endif
