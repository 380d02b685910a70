/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shortfall.h"

#include "diag.h"
#include "num.h"
#include "stop.h"

#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

/* What the budget left out, which limit that was, and what would mend it. */
static enum status
explain_skipped(const struct load *load)
{
	const struct budget *budget = &load->budget;
	unsigned long long skipped = load->all.skipped, allowed = load->allowed;
	bool given = budget_given(&load->share);
	char words[BUDGET_WORDS];

	budget_words(budget->room_group, budget->room_limit, words);
	diag_error("%llu files not started%s, %s (%llu bytes): the budget is %s (%llu bytes), "
		   "%s%s; --budget=SIZE|PCT changes it%s",
	    (unsigned long long)load->all.skipped_files,
	    load->ranges || load->source ? " or only in part" : "", BYTES(skipped), skipped,
	    BYTES(allowed), allowed, given ? "as given" : "what is free or idle ",
	    given ? "" : words,
	    given || !budget->room_group || load->cgroup
		? ""
		: "; warm's own memory cgroup pays, and --cgroup=PATH lets another one pay");
	return STATUS_PART;
}

static enum status
explain_holes(const struct load *load)
{
	unsigned long long holes = load->all.holes;

	diag_error("%s (%llu bytes) are holes of files in tmpfs, which are not cached",
	    BYTES(holes), holes);
	return STATUS_PART;
}

static enum status
explain_short(const struct load *load)
{
	diag_error(
	    "parts that were asked for lie behind the end of %llu files, which may have been "
	    "longer once; -v names them",
	    (unsigned long long)load->all.short_files);
	return STATUS_PART;
}

static enum status
explain_cut(const struct load *load)
{
	unsigned long long cut = load->all.cut;

	diag_error("%s (%llu bytes) are not there any more: files became shorter, or were replaced "
		   "or removed",
	    BYTES(cut), cut);
	return STATUS_PART;
}

/* What is missing and has no other reason: it came, and was pushed out again. */
static enum status
explain_missing(const struct load *load, enum status status)
{
	uint64_t missing = load->all.outcome.size - load->all.outcome.resident;
	/* of what is missing */
	uint64_t known = load->all.skipped + load->all.holes + load->all.cut;

	missing = missing > known ? missing - known : 0;
	if (load->all.outcome.failed) /* and may have been read in part */
		missing = load->away;
	if (missing == 0 || stop_asked() || load->dry_run)
		return STATUS_DONE;
	if (load->min >= 0 && status == STATUS_DONE) {
		diag_note("%s did not stay in memory", BYTES(missing));
		return STATUS_DONE;
	}
	diag_error("%s (%llu bytes) did not stay in memory: something else needs it, or the "
		   "budget is more than a limit; -v names the files",
	    BYTES(missing), (unsigned long long)missing);
	return STATUS_PART;
}

/* What a dry run is for. */
static void
explain_plan(const struct load *load)
{
	const struct tally *all = &load->all;
	/* not what is missing less what is skipped, which is of files besides that hide it */
	unsigned long long planned = all->expected + all->holes - all->outcome.already;
	unsigned long long allowed = load->allowed;

	diag_note("a dry run: %s (%llu bytes)%s would be read, the budget is %s (%llu "
		  "bytes)",
	    BYTES(planned), planned, all->outcome.failed ? " of what can be measured" : "",
	    BYTES(allowed), allowed);
}

enum status
shortfall_explain(const struct load *load)
{
	enum status status = load->status;

	if (load->all.outcome.beyond) {
		diag_error("the sizes add up to more than 2^64 bytes: no sum can be told");
		return STATUS_PART;
	}
	if (load->dry_run)
		explain_plan(load);
	if (load->all.skipped)
		status = status_worse(status, explain_skipped(load));
	if (load->all.holes)
		status = status_worse(status, explain_holes(load));
	if (load->all.cut)
		status = status_worse(status, explain_cut(load));
	if (load->all.short_files)
		status = status_worse(status, explain_short(load));
	return status_worse(status, explain_missing(load, status));
}
