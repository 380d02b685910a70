/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdict.h"

#include <inttypes.h>
#include <stdlib.h>

void
verdict_judge(struct verdict *verdict)
{
	const struct samples *samples = &verdict->samples;
	uint64_t accesses = samples->hits + samples->misses;

	verdict->known = verdict->counted && accesses > 0;
	verdict->status = STATUS_UNKNOWN;
	if (!verdict->known)
		return;
	verdict->status = thresh_verdict(&verdict->thresh, samples->hits, accesses);
	verdict->hundredths = thresh_figure(&verdict->thresh, samples->hits, accesses);
}

static void
put_ratio(const struct verdict *verdict, FILE *stream)
{
	fprintf(stream, "%u.%02u%%", verdict->hundredths / 100, verdict->hundredths % 100);
}

static void
put_limit(const struct thresh_limit *limit, FILE *stream)
{
	char text[THRESH_TEXT];

	fputs(thresh_text(limit->hundredths, text), stream);
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
	if (samples->unknown)
		fprintf(stream, "; %" PRIu64 " samples without figures", samples->unknown);
	if (verdict->expected && samples->rows != verdict->expected)
		fprintf(stream, "; %" PRIu64 " of %" PRIu64 " samples", samples->rows,
		    verdict->expected);
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
	put_ratio(verdict, stream);
	if (broken) {
		fputs(", below ", stream);
		put_limit(broken, stream);
		fputc('%', stream);
	}
	fprintf(stream, " (%" PRIu64 " hits, %" PRIu64 " misses", verdict->samples.hits,
	    verdict->samples.misses);
	put_doubts(verdict, stream);
	fputc(')', stream);
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
		put_ratio(verdict, stream);
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
		put_ratio(verdict, stream);
		fputs(" below threshold ", stream);
		put_limit(broken, stream);
		fputc('%', stream);
	} else
		fprintf(stream, "unknown: %s", verdict->reason);
}
