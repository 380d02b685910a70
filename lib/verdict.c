/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Between which ratios the true one is. Pages that were lost count as hits, and may be misses. An
 * event that was not counted is taken for one page read, hit or miss. False where that is too much
 * to be added.
 */
static bool
span(const struct samples *samples, struct thresh_span *span)
{
	uint64_t hits = samples->hits, accesses = hits + samples->misses;

	span->least = hits > samples->lost ? hits - samples->lost : 0;
	span->most = hits + samples->uncounted;
	return !__builtin_add_overflow(accesses, samples->uncounted, &span->whole);
}

/* What makes the figure less than a full and exact account of the window. */
static void
put_doubts(const struct verdict *verdict, FILE *stream)
{
	const struct samples *samples = &verdict->samples;

	if (samples->lost)
		fprintf(stream, "; estimate: %" PRIu64 " lost", samples->lost);
	else if (samples->estimated)
		fputs("; estimate", stream);
	if (samples->uncounted)
		fprintf(stream, "; %" PRIu64 " events not counted", samples->uncounted);
	if (samples->unknown)
		fprintf(stream, "; %" PRIu64 " samples without figures", samples->unknown);
	if (verdict->expected && samples->rows != verdict->expected)
		fprintf(stream, "; %" PRIu64 " of %" PRIu64 " samples", samples->rows,
		    verdict->expected);
}

static void
put_counts(const struct verdict *verdict, FILE *stream)
{
	fprintf(stream, " (%" PRIu64 " hits, %" PRIu64 " misses", verdict->samples.hits,
	    verdict->samples.misses);
	put_doubts(verdict, stream);
	fputc(')', stream);
}

static void
put_figure(unsigned hundredths, FILE *stream)
{
	fprintf(stream, "%u.%02u%%", hundredths / 100, hundredths % 100);
}

static void
explain_span(struct verdict *verdict, const struct thresh_span *between)
{
	FILE *stream = fmemopen(verdict->reason, sizeof verdict->reason, "w");

	if (!stream)
		return;
	fputs("the ratio may be ", stream);
	put_figure(thresh_figure(&verdict->thresh, between->least, between->whole), stream);
	fputs(" to ", stream);
	put_figure(thresh_figure(&verdict->thresh, between->most, between->whole), stream);
	put_counts(verdict, stream);
	fclose(stream);
}

void
verdict_judge(struct verdict *verdict)
{
	const struct samples *samples = &verdict->samples;
	uint64_t accesses = samples->hits + samples->misses;
	struct thresh_span between;

	verdict->idle = verdict->counted && accesses == 0 && !samples->uncounted;
	verdict->status = STATUS_UNKNOWN;
	if (!verdict->counted || verdict->idle)
		return;
	if (!span(samples, &between)) {
		strcpy(verdict->reason, "more was not counted than can be");
		return;
	}
	if (accesses)
		verdict->status = thresh_certain(&verdict->thresh, &between);
	verdict->known = verdict->status != STATUS_UNKNOWN;
	if (verdict->known)
		verdict->hundredths = thresh_figure(&verdict->thresh, samples->hits, accesses);
	else
		explain_span(verdict, &between);
}

static void
put_limit(const struct thresh_limit *limit, FILE *stream)
{
	char text[THRESH_TEXT];

	fputs(thresh_text(limit->hundredths, text), stream);
}

void
verdict_message(const struct verdict *verdict, FILE *stream)
{
	const struct thresh_limit *broken = thresh_broken(&verdict->thresh, verdict->status);

	if (!verdict->known) {
		fputs(verdict->reason, stream);
		return;
	}
	fputs("page-cache hit ratio ", stream);
	put_figure(verdict->hundredths, stream);
	if (broken) {
		fputs(", below ", stream);
		put_limit(broken, stream);
		fputc('%', stream);
	}
	put_counts(verdict, stream);
}

static void
put_performance_limit(const struct thresh_limit *limit, FILE *stream)
{
	fputc(';', stream);
	if (limit->set) {
		put_limit(limit, stream);
		fputc(':', stream);
	}
}

static void
put_performance(const struct verdict *verdict, FILE *stream)
{
	fputs("ratio=", stream);
	if (verdict->known)
		put_figure(verdict->hundredths, stream);
	else
		fputc('U', stream);
	put_performance_limit(&verdict->thresh.warning, stream);
	put_performance_limit(&verdict->thresh.critical, stream);
	fputs(";0;100", stream);
	if (verdict->counted)
		fprintf(stream, " accesses=%" PRIu64 " misses=%" PRIu64,
		    verdict->samples.hits + verdict->samples.misses, verdict->samples.misses);
	else
		fputs(" accesses=U misses=U", stream);
}

void
verdict_line(const struct verdict *verdict, FILE *stream)
{
	char *message = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&message, &length);

	fprintf(stream, "%s: ", status_name(verdict->status));
	if (memory) {
		verdict_message(verdict, memory);
		if (fclose(memory) == 0) {
			/* a bar would begin the performance data */
			for (char *at = message; *at; at++)
				fputc(*at == '|' ? '/' : *at, stream);
		}
		free(message);
	}
	fputs(" | ", stream);
	put_performance(verdict, stream);
}

void
verdict_alarm(const struct verdict *verdict, FILE *stream)
{
	const struct thresh_limit *broken = thresh_broken(&verdict->thresh, verdict->status);

	fputs("page-cache hit ratio ", stream);
	if (broken) {
		put_figure(verdict->hundredths, stream);
		fputs(" below threshold ", stream);
		put_limit(broken, stream);
		fputc('%', stream);
	} else
		fprintf(stream, "unknown: %s", verdict->reason);
}
