/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hash.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "stop.h"

struct state {
	uint64_t a, b, c, d;
};

static uint64_t
turn(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void
mix(struct state *state)
{
	state->a += state->b;
	state->b = turn(state->b, 13) ^ state->a;
	state->a = turn(state->a, 32);
	state->c += state->d;
	state->d = turn(state->d, 16) ^ state->c;
	state->a += state->d;
	state->d = turn(state->d, 21) ^ state->a;
	state->c += state->b;
	state->b = turn(state->b, 17) ^ state->c;
	state->c = turn(state->c, 32);
}

static void
take(struct state *state, uint64_t word)
{
	state->d ^= word;
	mix(state);
	state->a ^= word;
}

/* At most eight bytes, the first one lowest. */
static uint64_t
word_of(const unsigned char *bytes, size_t count)
{
	uint64_t word = 0;

	while (count-- > 0)
		word = word << 8 | bytes[count];
	return word;
}

void
hash_begin(struct hash_key *key)
{
	/* never waits: what runs at boot would, for as long as the kernel has nothing to give
	 * (before Linux 5.6) */
	if (getrandom(key->words, sizeof key->words, GRND_NONBLOCK) == sizeof key->words)
		return;
	key->words[0] = stop_now();
	key->words[1] = (uint64_t)getpid();
}

uint64_t
hash_of(const struct hash_key *key, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	size_t left = length;
	struct state state = {
		key->words[0] ^ 0x736f6d6570736575,
		key->words[1] ^ 0x646f72616e646f6d,
		key->words[0] ^ 0x6c7967656e657261,
		key->words[1] ^ 0x7465646279746573,
	};

	for (; left >= 8; at += 8, left -= 8)
		take(&state, word_of(at, 8));
	take(&state, word_of(at, left) | (uint64_t)length << 56);
	state.c ^= 0xff;
	mix(&state);
	mix(&state);
	mix(&state);
	return state.a ^ state.b ^ state.c ^ state.d;
}
