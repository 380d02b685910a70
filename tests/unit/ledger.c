/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ledger.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static char told[1024];

static void
event(const char *text, void *argument)
{
	(void)argument;
	snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

int
main(void)
{
	struct hold hold = { 0 };
	struct ledger ledger = { .holds = &hold };
	struct roster roster;
	uint32_t number;

	roster_begin(&roster);
	number = roster_add(&roster, roster_folder(&roster, "d", 1, true), "f", 0, 1, 2);
	ledger_set(&ledger, &roster, number, 100, LEDGER_LOST);
	ok(hold.pinned == 100 && !hold.repinned && !hold.lost, "pinned for the first time");
	ledger_set(&ledger, &roster, number, 40, LEDGER_LOST);
	ledger_set(&ledger, &roster, number, 30, LEDGER_RELEASED);
	ok(hold.pinned == 30 && hold.lost == 60 && hold.released == 10, "lost, and released");
	ledger_set(&ledger, &roster, number, 120, LEDGER_LOST);
	ok(hold.pinned == 120 && hold.repinned == 70,
	    "what was owed is pinned again, the rest new");
	ledger_tell(&ledger, "why", event, NULL);
	is(told,
	    "lost: 60B (60 bytes) of d/f\n"
	    "released: 10B (10 bytes) of d/f: memory is tight: why\n"
	    "pinned again: 70B (70 bytes) of d/f\n",
	    "in words");
	*told = '\0';
	ledger_tell(&ledger, NULL, event, NULL);
	is(told, "", "once");
	ledger_fail(&ledger, &roster, number, false);
	ledger_fail(&ledger, &roster, number, true);
	ledger_fail(&ledger, &roster, number, true);
	ok(hold.failed == 1, "failed counts once");
	ledger_fail(&ledger, &roster, number, false);
	ok(hold.failed == 0, "until it does not");
	ledger_count(&ledger, &roster, number, true);
	ledger_count(&ledger, &roster, number, true);
	ok(hold.files == 1, "a file counts once");
	roster_free(&roster);
	return tap_done();
}
