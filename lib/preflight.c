/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "budget.h"
#include "journal.h"
#include "meminfo.h"
#include "memlock.h"
#include "share.h"

#define DEFAULT_SHARE 25.0 /* percent: the rest must do for everything else */

/* "118M (123731968 bytes)" */
#define AMOUNT   "%s (%llu bytes)"
#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })
#define HUMAN(n) BYTES(n), (unsigned long long)(n)

/* What is looked at, and what was found so far. */
struct look {
	struct keeper *keeper;
	struct budget budget;
	struct num_share share;
	uint64_t missing; /* BUDGET_UNKNOWN: not looked at yet */
	uint64_t ours;    /* locked already, and let go by then */
	uint64_t allowed;
	const struct budget_level *level; /* that says so; NULL: the share itself */
	FILE *against;                    /* every limit that is in the way */
	FILE *figures;                    /* what there is, where none is */
	bool refused;
};

/* Into LOOK how much may be pinned. */
static int
take_share(struct look *look, struct num_share max)
{
	const struct budget *budget = &look->budget;

	look->share = budget_given(&max) ? max : (struct num_share){ .percent = DEFAULT_SHARE };
	if (look->share.percent >= 0 &&
	    (budget->whole == BUDGET_UNKNOWN || budget->room == BUDGET_UNKNOWN)) {
		errno = ENODATA;
		return -1;
	}
	look->level = budget_pinnable(budget, &look->share, look->ours, &look->allowed);
	return 0;
}

/* What the share is a share of; never more than all of it. */
static void
put_share(const struct look *look, FILE *stream)
{
	char whole[BUDGET_WORDS];
	uint64_t locked;

	fprintf(stream, AMOUNT " allowed: ", HUMAN(look->allowed));
	if (!look->level) {
		fputs("as --max says", stream);
		return;
	}
	locked = budget_locked(look->level, look->ours);
	budget_words(look->level->group, look->level->whole, whole);
	fprintf(stream, "%.4g%% %s", look->share.percent < 0 ? 100 : look->share.percent, whole);
	if (locked)
		fprintf(stream, ", less %s that is locked", BYTES(locked));
}

/* One more limit that is in the way: where it is to be written. */
static FILE *
refuse(struct look *look)
{
	if (look->refused)
		fputs("; also, ", look->against);
	look->refused = true;
	return look->against;
}

static void
check_share(struct look *look)
{
	uint64_t asked = look->keeper->asked;
	FILE *stream;

	if (asked != HOLD_UNKNOWN && asked <= look->allowed) {
		put_share(look, look->figures);
		return;
	}
	stream = refuse(look);
	put_share(look, stream);
	fputs("; --max=SIZE|PCT changes it", stream);
}

static void
check_memlock(struct look *look)
{
	uint64_t asked = look->keeper->asked, limit;

	if (!memlock_allows(asked, &limit)) {
		fprintf(refuse(look),
		    "the limit on locked memory (RLIMIT_MEMLOCK) is " AMOUNT ": raise it "
		    "(ulimit -l, or LimitMEMLOCK= of a systemd unit), or give this program the "
		    "capability (setcap cap_ipc_lock+ep)",
		    HUMAN(limit));
		return;
	}
	if (limit == MEMLOCK_NONE)
		fputs("; RLIMIT_MEMLOCK unlimited", look->figures);
	else
		fprintf(look->figures, "; RLIMIT_MEMLOCK " AMOUNT "%s", HUMAN(limit),
		    asked > limit ? ", which CAP_IPC_LOCK lifts" : "");
}

static void
put_available(FILE *stream)
{
	struct meminfo info;

	if (meminfo_read(MEMINFO_PATH, &info) == 0 && info.available != MEMINFO_UNKNOWN)
		fprintf(stream, " (MemAvailable " AMOUNT ")", HUMAN(info.available));
}

/* Of what is asked for, what is not in memory yet, as far as can be told; a look at all of it. */
static uint64_t
missing(struct look *look)
{
	uint64_t bytes;

	if (look->missing == BUDGET_UNKNOWN)
		look->missing = keeper_missing(look->keeper, &bytes) == 0 ? bytes
									  : look->keeper->asked;
	return look->missing;
}

/* Whether what is not in memory yet fits into what is free or idle. */
static void
check_room(struct look *look)
{
	const struct budget *budget = &look->budget;
	uint64_t lacking = look->keeper->asked;
	char words[BUDGET_WORDS];
	FILE *stream = look->figures;

	if (budget->room == BUDGET_UNKNOWN) {
		fputs("; how much is free is not known", stream);
		return;
	}
	if (lacking > budget->room)
		lacking = missing(look);
	budget_words(budget->room_group, budget->room_limit, words);
	if (lacking > budget->room) {
		stream = refuse(look);
		fprintf(stream, AMOUNT " not in memory yet, ", HUMAN(lacking));
	} else
		fputs("; ", stream);
	fprintf(stream, AMOUNT " free or idle %s", HUMAN(budget->room), words);
	put_available(stream);
	if (lacking > budget->room)
		fputs(": ask for less, or free memory", stream);
}

/* What there will be less at LEVEL, with LACKING of what is asked for not in memory yet. */
static uint64_t
taken(const struct look *look, const struct budget_level *level, uint64_t lacking)
{
	uint64_t cached = look->keeper->asked - num_least(lacking, look->keeper->asked);
	uint64_t bytes = lacking + num_least(cached, level->cache);

	return bytes - num_least(bytes, look->ours);
}

/* Whether the valve would give back at once what is pinned, also where it is in memory already. */
static void
check_spare(struct look *look, const struct budget_level *level)
{
	char words[BUDGET_WORDS];
	FILE *stream;

	if (level->spare == BUDGET_UNKNOWN ||
	    taken(look, level, look->keeper->asked) <= level->spare ||
	    taken(look, level, missing(look)) <= level->spare)
		return;
	stream = refuse(look);
	budget_words(level->group, level->whole, words);
	fprintf(stream, "no more than " AMOUNT " %s can be pinned without being given back at once",
	    HUMAN(level->spare), words);
	put_available(stream);
	fputs(": ask for less, or free memory", stream);
}

/* More files than one process can map are no reason to refuse. */
static int
note_maps(struct preflight *preflight, const struct keeper *keeper)
{
	unsigned long long files = 0, most = shares_most();
	uint32_t processes;
	uint64_t room;

	for (size_t i = 0; i < keeper->holds_count; i++)
		files += keeper->holds[i].files;
	if (files <= most)
		return 0;
	processes = shares_needed(files, &room);
	if (files <= room)
		return asprintf(&preflight->detail,
		    "%llu files, and one process can pin %llu (vm.max_map_count): %u processes "
		    "share them",
		    files, most, processes);
	return asprintf(&preflight->shortage,
	    "only %llu of %llu files can be pinned: %llu a process (vm.max_map_count), by %u "
	    "processes, which are as many as there may be (%d, or fewer with few descriptors: "
	    "ulimit -n)",
	    (unsigned long long)room, files, most, processes, SHARE_WORKERS + 1);
}

static void
look_at_all(struct look *look)
{
	if (look->keeper->asked == HOLD_UNKNOWN)
		fputs("more than 2^64 bytes asked, ", look->against);
	else
		fprintf(look->against, AMOUNT " asked, ", HUMAN(look->keeper->asked));
	fprintf(look->figures, AMOUNT " may be pinned, ", HUMAN(look->keeper->asked));
	check_share(look);
	if (look->keeper->asked == HOLD_UNKNOWN)
		return;
	check_memlock(look);
	check_room(look);
	for (size_t i = 0; i < look->budget.level_count; i++)
		check_spare(look, &look->budget.levels[i]);
}

/* With two streams in memory, of which one is what there is to say. */
static int
compose(struct preflight *preflight, struct look *look)
{
	char *against = NULL, *figures = NULL;
	size_t length;
	bool failed;

	look->against = open_memstream(&against, &length);
	look->figures = open_memstream(&figures, &length);
	failed = !look->against || !look->figures;
	if (!failed)
		look_at_all(look);
	failed |= look->against && fclose(look->against) != 0;
	failed |= look->figures && fclose(look->figures) != 0;
	preflight->allowed = look->allowed;
	preflight->fits = !look->refused;
	preflight->words = look->refused ? against : figures;
	free(look->refused ? figures : against);
	if (!failed)
		return 0;
	preflight_free(preflight);
	errno = ENOMEM;
	return -1;
}

static void
explain(void)
{
	if (errno == ENODATA)
		journal_tell(LOG_ERR,
		    "how much memory there is, or is free, cannot be told; "
		    "--max=SIZE says how much may be pinned");
	else
		journal_tell(LOG_ERR, "whether it may be pinned cannot be told: %s",
		    strerror(errno));
}

int
preflight_look(struct preflight *preflight, struct keeper *keeper, struct num_share max,
    uint64_t ours)
{
	struct look look = { .keeper = keeper, .missing = BUDGET_UNKNOWN, .ours = ours };
	int result;

	*preflight = (struct preflight){ 0 };
	if (budget_read("", &look.budget) < 0) {
		explain();
		return -1;
	}
	if (look.budget.unseen)
		journal_tell(LOG_WARNING,
		    "the limits of memory cgroup %s, which this runs in, cannot be seen: only those of "
		    "the machine are kept",
		    look.budget.unseen);
	result = take_share(&look, max);
	if (result == 0)
		result = compose(preflight, &look);
	if (result == 0 && note_maps(preflight, keeper) < 0) {
		preflight->detail = preflight->shortage = NULL;
		preflight_free(preflight);
		errno = ENOMEM;
		result = -1;
	}
	if (result < 0)
		explain();
	budget_free(&look.budget);
	return result;
}

void
preflight_free(struct preflight *preflight)
{
	free(preflight->words);
	free(preflight->detail);
	free(preflight->shortage);
	*preflight = (struct preflight){ 0 };
}
