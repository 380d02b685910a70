/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "samples.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "num.h"

/* Columns and keys that matter, in the order of samples.place and samples_row.value. */
enum { HITS, MISSES, LOST, HITS_EST, MISSES_EST, NUMBERS, TIER = NUMBERS, PLACES };
static const char *const names[PLACES] = { "hits", "misses", "lost", "hits_est", "misses_est",
	"tier" };

#define BOTH     (1U << HITS | 1U << MISSES)
#define BOTH_EST (1U << HITS_EST | 1U << MISSES_EST)

#define MARK "est" /* behind an estimate, in a table for people */

static int
fail(struct samples *samples, const char *problem)
{
	samples->problem = problem;
	errno = EINVAL;
	return -1;
}

void
samples_start(struct samples *samples)
{
	memset(samples, 0, sizeof *samples);
	samples->at = 1;
}

static int
place_named(const char *name)
{
	int place = 0;

	while (place < PLACES && strcasecmp(name, names[place]) != 0)
		place++;
	return place;
}

/*
 * Cuts the next cell off *AT: of blanks, as many as there are; of tabs, each ends a
 * cell, which may be empty. NULL where there is none left.
 */
static char *
next_cell(char **at, enum samples_kind kind)
{
	const char *ends = kind == SAMPLES_TABS ? "\t" : " \t";
	char *cell = *at;

	if (!cell)
		return NULL;
	if (kind == SAMPLES_BLANKS) {
		cell += strspn(cell, ends);
		if (!*cell)
			return NULL;
	}
	*at = strpbrk(cell, ends);
	if (*at)
		*(*at)++ = '\0';
	return cell;
}

/* Cuts the mark off; the place where such a figure belongs. */
static int
place_of_marked(int place, char *text)
{
	size_t length = strlen(text), mark = strlen(MARK);

	if ((place != HITS && place != MISSES) || length <= mark ||
	    strcmp(text + length - mark, MARK) != 0)
		return place;
	text[length - mark] = '\0';
	return place == HITS ? HITS_EST : MISSES_EST;
}

static int
take_number(struct samples *samples, int place, char *text)
{
	struct samples_row *row = &samples->row;

	if (row->seen & 1U << place)
		return fail(samples, "a figure is there twice");
	row->seen |= 1U << place;
	if (!*text || strcmp(text, "-") == 0)
		return 0;
	place = place_of_marked(place, text);
	if (num_count(text, &row->value[place]) < 0)
		return fail(samples,
		    errno == ERANGE ? "a figure is too large" : "not a count of pages");
	row->known |= 1U << place;
	return 0;
}

static int
take(struct samples *samples, int place, char *text)
{
	if (place < NUMBERS)
		return take_number(samples, place, text);
	if (strcmp(text, "proc") == 0)
		samples->estimated = true;
	return 0;
}

static int
add_row(struct samples *samples)
{
	struct samples_row row = samples->row;

	memset(&samples->row, 0, sizeof samples->row);
	if ((row.seen & BOTH) != BOTH)
		return fail(samples, "a sample without hits or misses");
	samples->rows++;
	if ((row.known & BOTH) != BOTH && (row.known & BOTH_EST) == BOTH_EST) {
		samples->estimated = true;
		row.value[HITS] = row.value[HITS_EST];
		row.value[MISSES] = row.value[MISSES_EST];
		row.known |= BOTH;
	}
	/* with half of it unknown, the known half says nothing about the ratio */
	if ((row.known & BOTH) != BOTH)
		samples->unknown++;
	else if (__builtin_add_overflow(samples->hits, row.value[HITS], &samples->hits) ||
	    __builtin_add_overflow(samples->misses, row.value[MISSES], &samples->misses) ||
	    samples->hits > UINT64_MAX - samples->misses)
		return fail(samples, "the sum is too large");
	if (__builtin_add_overflow(samples->lost, row.value[LOST], &samples->lost))
		return fail(samples, "the sum is too large");
	return 0;
}

/* Whether the line is a heading; then its columns are those of the rows that follow. */
static bool
take_heading(struct samples *samples)
{
	enum samples_kind kind = strchr(samples->line, '\t') ? SAMPLES_TABS : SAMPLES_BLANKS;
	int place[PLACES] = { -1, -1, -1, -1, -1, -1 };
	char copy[SAMPLES_LINE];
	char *at = memcpy(copy, samples->line, samples->length + 1);
	char *cell;
	int columns = 0;

	for (; (cell = next_cell(&at, kind)); columns++) {
		int named = place_named(cell);

		if (named < PLACES && place[named] < 0)
			place[named] = columns;
	}
	if (place[HITS] < 0 || place[MISSES] < 0)
		return false;
	memcpy(samples->place, place, sizeof place);
	samples->columns = columns;
	samples->kind = kind;
	return true;
}

static int
take_table_row(struct samples *samples)
{
	char *at = samples->line, *cell;
	int column = 0;

	for (; (cell = next_cell(&at, samples->kind)); column++)
		for (int place = 0; place < PLACES; place++)
			if (samples->place[place] == column && take(samples, place, cell) < 0)
				return -1;
	/* a line that was cut short would pass for a smaller figure */
	if (column != samples->columns)
		return fail(samples, "more or fewer columns than the heading");
	return add_row(samples);
}

/* The value, where the line is KEY=VALUE of a record; else NULL. */
static char *
value_of(char *line)
{
	size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz_0123456789");

	return length > 0 && line[length] == '=' ? line + length + 1 : NULL;
}

static int
take_setting(struct samples *samples)
{
	char *value = value_of(samples->line);
	int place;

	if (!value)
		return fail(samples, "not a line KEY=VALUE");
	value[-1] = '\0';
	samples->row.seen |= 1U << PLACES; /* a record has begun */
	place = place_named(samples->line);
	return place < PLACES ? take(samples, place, value) : 0;
}

static bool
is_blank(const char *line)
{
	return line[strspn(line, " \t")] == '\0';
}

static int
take_line(struct samples *samples)
{
	bool broken = samples->overlong || samples->cut;

	samples->line[samples->length] = '\0';
	if (samples->kind == SAMPLES_ANY) {
		/* what comes before the heading is a greeting, as of perf-tools' cachestat */
		if (broken)
			return 0;
		if (!value_of(samples->line)) {
			take_heading(samples);
			return 0;
		}
		samples->kind = SAMPLES_RECORDS;
	}
	if (broken)
		return fail(samples, samples->cut ? "not text" : "the line is too long");
	if (samples->kind == SAMPLES_RECORDS) {
		if (!is_blank(samples->line))
			return take_setting(samples);
		return samples->row.seen ? add_row(samples) : 0;
	}
	/* an empty line is none, but tabs alone may be a row of unknown figures */
	if (samples->length == 0 || (samples->kind == SAMPLES_BLANKS && is_blank(samples->line)))
		return 0;
	/* some print the heading again after a screenful */
	return take_heading(samples) ? 0 : take_table_row(samples);
}

static int
end_line(struct samples *samples)
{
	if (samples->length && samples->line[samples->length - 1] == '\r')
		samples->length--;
	if (take_line(samples) < 0)
		return -1;
	samples->length = 0;
	samples->overlong = samples->cut = false;
	samples->at++;
	return 0;
}

int
samples_feed(struct samples *samples, const char *bytes, size_t length)
{
	for (; length; bytes++, length--) {
		if (*bytes == '\n') {
			if (end_line(samples) < 0)
				return -1;
		} else if (samples->length == sizeof samples->line - 1)
			samples->overlong = true;
		else {
			samples->cut |= *bytes == '\0';
			samples->line[samples->length++] = *bytes;
		}
	}
	return 0;
}

int
samples_end(struct samples *samples)
{
	/* a figure that was cut is a smaller one: hits=123 of hits=12345 */
	if (samples->length && samples->kind != SAMPLES_ANY)
		return fail(samples, "the line has no end: it may have been cut");
	if (samples->length && end_line(samples) < 0)
		return -1;
	if (samples->row.seen && add_row(samples) < 0)
		return -1;
	if (samples->kind == SAMPLES_ANY)
		return fail(samples, "no heading that names HITS and MISSES");
	if (samples->rows == 0)
		return fail(samples, "no sample");
	return 0;
}
