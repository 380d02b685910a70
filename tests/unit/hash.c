/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hash.h"

#include "tap.h"

/* As Python 3.11 has it, with PYTHONHASHSEED=0: hash(b"...") */
static const struct {
	const char *text;
	int64_t hash;
} known[] = {
	{ "a", 4644417185603328019 },
	{ "abcdefg", 7904145750247929094 },
	{ "abcdefgh", 4574395652268504554 },
	{ "hello world, this is long", 7650859633215404784 },
};

int
main(void)
{
	struct hash_key key = { { 0, 0 } }, other;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ok(hash_of(&key, known[i].text, strlen(known[i].text)) == (uint64_t)known[i].hash,
		    known[i].text);
	hash_begin(&key);
	hash_begin(&other);
	ok(hash_of(&key, "a", 1) == hash_of(&key, "a", 1), "the same again");
	ok(hash_of(&key, "a", 1) != hash_of(&other, "a", 1), "not with another key");
	ok(hash_of(&key, "", 0) != hash_of(&key, "\0", 1), "bytes that are 0 count");
	return tap_done();
}
