/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "outcome.h"

#include <signal.h>

#include "diag.h"
#include "stop.h"

#define NSEC 1000000000ULL

bool
outcome_file(struct outcome *outcome, const struct each_file *file, enum residency_why why,
    uint64_t start, uint64_t end)
{
	bool known = end && why == RESIDENCY_KNOWN;

	*outcome = (struct outcome){ .failed = file->error || why != RESIDENCY_KNOWN };
	if (!end)
		return false;
	outcome->files = 1;
	outcome->hidden = why == RESIDENCY_NO_PERMISSION;
	outcome->elsewhere = why == RESIDENCY_NOT_PAGE_CACHE;
	outcome->size = known ? file->length : 0;
	outcome->start = start;
	outcome->end = end;
	return known;
}

void
outcome_bytes(struct outcome *outcome, uint64_t *sum, uint64_t more)
{
	outcome->beyond |= __builtin_add_overflow(*sum, more, sum);
}

void
outcome_add(struct outcome *outcome, const struct outcome *more)
{
	outcome->files += more->files;
	outcome->failed += more->failed;
	outcome->hidden += more->hidden;
	outcome->elsewhere += more->elsewhere;
	outcome->beyond |= more->beyond;
	outcome_bytes(outcome, &outcome->size, more->size);
	outcome_bytes(outcome, &outcome->already, more->already);
	outcome_bytes(outcome, &outcome->resident, more->resident);
	if (more->end && (!outcome->end || more->start < outcome->start))
		outcome->start = more->start;
	if (more->end > outcome->end)
		outcome->end = more->end;
}

bool
outcome_known(const struct outcome *outcome)
{
	return !outcome->beyond && (outcome->size > 0 || outcome->failed == 0);
}

double
outcome_seconds(const struct outcome *outcome)
{
	return (double)(outcome->end - outcome->start) / NSEC;
}

int
outcome_end(enum status status, bool worked)
{
	if (stop_asked() == SIGALRM)
		diag_error("not done within the time allowed (--timeout)");
	if (stop_asked())
		status = status_worse(status, STATUS_PART);
	if (!worked && diag_errors())
		status = status_worse(status, STATUS_FAILED);
	return stop_status(status);
}
