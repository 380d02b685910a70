/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include "status.h"
#include "tap.h"

#define PINNED(bytes)                                                                              \
	{                                                                                          \
		.name = "a", .files = 1, .asked = (bytes), .pinned = (bytes), .state = "pinned"    \
	}
#define DARK                                                                                       \
	{                                                                                          \
		.name = "gone", .failed = 1, .state = "partial"                                    \
	}

int
main(void)
{
	struct hold all[] = { PINNED(4096), DARK }, released = PINNED(4096), unknown = PINNED(4096);
	char words[HOLD_WORDS];

	ok(hold_standing(all, 1) == STATUS_DONE, "all is pinned");
	ok(hold_standing(all, 2) == STATUS_PART, "one cannot be read");
	released.pinned = 0;
	released.released = 4096;
	released.state = "partial";
	ok(hold_standing(&released, 1) == STATUS_FAILED, "nothing is pinned");
	all[0].state = NULL;
	ok(hold_standing(all, 1) == STATUS_PART, "nor known to be, before it is looked at");
	ok(hold_words(all, 2, words) == 4096, "what is not known is left out of the sum");
	is(words, "4.0K of 4.0K pinned", "in words");
	unknown.pinned = HOLD_UNKNOWN;
	ok(hold_words(&unknown, 1, words) == HOLD_UNKNOWN, "a sum that is not known");
	is(words, "- of 4.0K pinned", "is not 0");
	return tap_done();
}
