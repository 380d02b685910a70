/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holding.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "diag.h"
#include "journal.h"
#include "memlock.h"
#include "status.h"
#include "stop.h"

#define PATIENCE 5000000000ULL /* ns, for who reads the first report */

static void
complain(const char *path, const char *why)
{
	journal_tell(LOG_ERR, "%s: %s", path, why);
}

static void
tell(const char *text, void *argument)
{
	const struct holding *holding = argument;

	journal_tell(LOG_NOTICE, "%s", text);
	notify_status(holding->notify, text);
}

/* While what is to follow is looked at, what there is goes on being tended. */
static bool
breathe(void *argument)
{
	struct holding *holding = argument;

	if (holding->looking && !holding->tending) {
		holding->tending = true;
		keeper_tend(holding->keeper);
		holding->tending = false;
	}
	return holding->breathe(holding->argument);
}

static void
drop(struct keeper *keeper)
{
	if (!keeper || keeper->hung)
		return; /* a thread that hangs may come back to it */
	keeper_end(keeper);
	free(keeper);
}

/* Looks at what is asked for. NULL where that cannot be done, which is said. */
static struct keeper *
survey(struct holding *holding)
{
	struct keeper *keeper = malloc(sizeof *keeper);

	if (keeper) {
		*keeper = (struct keeper){
			.select = holding->select,
			.operands = holding->operands,
			.count = holding->count,
			.dry_run = holding->dry_run,
			.complain = complain,
			.event = tell,
			.breathe = breathe,
			.argument = holding,
			.quiet_time = holding->quiet_time,
		};
		if (keeper_begin(keeper, holding->list) == 0) {
			if (keeper_survey(keeper) == 0)
				return keeper;
			keeper_end(keeper);
		}
	}
	if (holding->list && errno != ENOMEM)
		journal_tell(LOG_ERR, "%s: %s", holding->list, strerror(errno));
	else
		journal_tell(LOG_ERR, "the files cannot be looked at: %s", strerror(errno));
	free(keeper);
	return NULL;
}

/* Whether, and how much, may be pinned; -1 where that cannot be told, which is said. */
static int
look_before(struct holding *holding, struct keeper *keeper, uint64_t ours,
    struct preflight *preflight)
{
	if (preflight_look(preflight, keeper, holding->max, ours) < 0)
		return -1;
	if (preflight->detail)
		diag_detail("%s", preflight->detail);
	if (preflight->shortage && !holding->dry_run) /* which is about this, and says so loudly */
		diag_detail("%s", preflight->shortage);
	keeper->allowed = preflight->allowed;
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->holds[i].limit = keeper->allowed;
	return 0;
}

/* Of all that is named nothing can be read. */
static bool
is_dark(const struct keeper *keeper)
{
	return keeper->partial && keeper->asked == 0;
}

int
holding_begin(struct holding *holding)
{
	holding->keeper = survey(holding);
	if (!holding->keeper)
		return STATUS_FAILED;
	if (stop_asked() == SIGALRM)
		diag_error("nothing is pinned: the time allowed (--timeout) was over before");
	if (stop_asked() || is_dark(holding->keeper))
		return STATUS_FAILED;
	if (look_before(holding, holding->keeper, 0, &holding->preflight) < 0)
		return STATUS_UNKNOWN;
	return STATUS_DONE;
}

void
holding_end(struct holding *holding)
{
	preflight_free(&holding->preflight);
	drop(holding->keeper);
	holding->keeper = NULL;
}

/* --- reports */

uint64_t
holding_words(const struct holding *holding, char words[static HOLD_WORDS])
{
	return hold_words(holding->keeper->holds, holding->keeper->holds_count, words);
}

int
holding_standing(const struct holding *holding)
{
	return hold_standing(holding->keeper->holds, holding->keeper->holds_count);
}

static int
put_rows(struct holding *holding, uint64_t patience)
{
	const struct keeper *keeper = holding->keeper;
	struct bulletin *bulletin = &holding->bulletin;
	int result;

	bulletin_begin(bulletin);
	result = hold_report(keeper->holds, keeper->holds_count, &bulletin->out);
	return bulletin_end(bulletin, result, patience);
}

int
holding_report(struct holding *holding, uint64_t patience)
{
	if (put_rows(holding, patience) == 0)
		return STATUS_DONE;
	if (errno != EAGAIN)
		return bulletin_explain(&holding->bulletin);
	diag_error("%s: nobody reads the report", bulletin_name(&holding->bulletin));
	return stop_status(STATUS_FAILED);
}

void
holding_report_again(struct holding *holding)
{
	if (put_rows(holding, 0) < 0)
		journal_tell(LOG_ERR, "%s: %s: a report is left out",
		    bulletin_name(&holding->bulletin),
		    errno == EAGAIN ? "nobody reads it" : strerror(errno));
}

int
holding_answer(enum out_format format, FILE *stream, void *argument)
{
	const struct holding *holding = argument;
	const struct keeper *keeper = holding->keeper;
	struct out out;
	int status = -1;

	if (out_open(&out, &hold_table, format, NULL, stream) == 0 &&
	    hold_report(keeper->holds, keeper->holds_count, &out) == 0 && out_commit(&out) == 0)
		status = holding_standing(holding);
	out_close(&out);
	return status;
}

/* --- pinning */

static int
pin(struct holding *holding)
{
	struct keeper *keeper = holding->keeper;

	/* the command, which runs already, does without; and what is pinned may grow */
	memlock_raise(keeper->asked);
	memlock_raise(keeper->allowed);
	if (keeper_pin(keeper) == 0)
		return 0;
	journal_tell(LOG_ERR, "nothing can be pinned: %s", strerror(errno));
	return -1;
}

int
holding_pin(struct holding *holding)
{
	const struct keeper *keeper = holding->keeper;
	int status;

	if (pin(holding) < 0)
		return STATUS_FAILED;
	status = holding_report(holding, PATIENCE);
	if (status != STATUS_DONE)
		return status;
	if (stop_asked() == SIGALRM && keeper->partial)
		diag_error("not all is pinned within the time allowed (--timeout)");
	if (keeper->asked == 0 || keeper_holds(keeper))
		return STATUS_DONE;
	if (!stop_asked())
		diag_error("nothing is pinned");
	return STATUS_FAILED;
}

/* What is pinned is let go before the new is pinned: twice the same would count twice. */
static int
change_to(struct holding *holding, struct keeper *next)
{
	char words[HOLD_WORDS];

	keeper_release(holding->keeper);
	drop(holding->keeper);
	holding->keeper = next;
	if (pin(holding) < 0)
		return -1;
	holding_report_again(holding);
	holding_words(holding, words);
	journal_tell(LOG_NOTICE, "reloaded: %s", words);
	return 0;
}

/* Whether NEXT may follow; where not, it is said why. */
static bool
may_follow(struct holding *holding, struct keeper *next)
{
	uint64_t ours = holding_words(holding, (char[HOLD_WORDS]){ 0 });
	struct preflight preflight;
	bool fits;

	if (is_dark(next)) {
		journal_tell(LOG_ERR, "reload refused: nothing that is named can be read");
		return false;
	}
	if (look_before(holding, next, ours == HOLD_UNKNOWN ? 0 : ours, &preflight) < 0)
		return false;
	fits = preflight.fits;
	if (!fits)
		journal_tell(LOG_ERR, "reload refused: %s", preflight.words);
	preflight_free(&preflight);
	return fits;
}

int
holding_reload(struct holding *holding)
{
	struct keeper *next;
	bool follows;

	holding->looking = true;
	next = survey(holding);
	follows = next && holding->breathe(holding->argument) && may_follow(holding, next);
	holding->looking = false;
	if (follows)
		return change_to(holding, next);
	drop(next);
	return 0;
}
