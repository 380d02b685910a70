/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "num.h"

static void
add(struct ledger *ledger, enum ledger_what what, const struct roster *roster, uint32_t number,
    uint64_t bytes)
{
	struct ledger_sum *sum = &ledger->sums[what];

	if (sum->files++ == 0)
		sum->path = roster_path(roster, number);
	sum->bytes += bytes;
}

void
ledger_set(struct ledger *ledger, struct roster *roster, uint32_t number, uint64_t pinned,
    enum ledger_what what)
{
	struct roster_file *file = &roster->files[number];
	struct hold *hold = &ledger->holds[file->owner];
	uint64_t less = file->pinned > pinned ? file->pinned - pinned : 0;
	uint64_t more = pinned > file->pinned ? pinned - file->pinned : 0;
	uint64_t again = more < file->owed ? more : file->owed;

	hold->pinned += pinned - file->pinned;
	file->pinned = pinned;
	file->owed += less;
	file->owed -= again;
	hold->repinned += again;
	if (again)
		add(ledger, LEDGER_REPINNED, roster, number, again);
	if (!less)
		return;
	*(what == LEDGER_LOST ? &hold->lost : &hold->released) += less;
	add(ledger, what, roster, number, less);
}

void
ledger_count(struct ledger *ledger, struct roster *roster, uint32_t number, bool counted)
{
	struct roster_file *file = &roster->files[number];

	if (counted != file->counted)
		ledger->holds[file->owner].files += counted ? 1 : UINT64_MAX;
	file->counted = counted;
}

void
ledger_fail(struct ledger *ledger, struct roster *roster, uint32_t number, bool failed)
{
	struct roster_file *file = &roster->files[number];

	if (failed != file->failed)
		ledger->holds[file->owner].failed += failed ? 1 : UINT64_MAX;
	if (file->failed && !failed) {
		file->said = file->crowded = false;
		file->pause = 0;
	}
	file->failed = failed;
}

void
ledger_ask(struct ledger *ledger, struct roster *roster, uint32_t number, uint64_t length)
{
	struct roster_file *file = &roster->files[number];
	struct hold *hold = &ledger->holds[file->owner];

	hold->asked += length - file->length;
	file->length = length;
}

void
ledger_tell(struct ledger *ledger, const char *why, void (*event)(const char *text, void *argument),
    void *argument)
{
	static const char *const words[] = { "lost", "released", "pinned again" };

	for (int what = 0; what < LEDGER_KINDS; what++) {
		struct ledger_sum *sum = &ledger->sums[what];
		char size[NUM_HUMAN], *text = NULL, others[32] = "";

		if (sum->files == 0)
			continue;
		if (sum->files > 1)
			snprintf(others, sizeof others, " and %llu more",
			    (unsigned long long)sum->files - 1);
		if (asprintf(&text, "%s: %s (%llu bytes) of %s%s%s%s", words[what],
			num_human(sum->bytes, size), (unsigned long long)sum->bytes,
			sum->path ? sum->path : "a file", others,
			what == LEDGER_RELEASED && why ? ": memory is tight: " : "",
			what == LEDGER_RELEASED && why ? why : "") < 0)
			text = NULL;
		if (text)
			event(text, argument);
		free(text);
		free(sum->path);
		*sum = (struct ledger_sum){ 0 };
	}
}
