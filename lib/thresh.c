/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thresh.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

/* A percentage has three digits, two decimals and a sign at most; zeros before it
 * are nobody's intention. */
#define LONGEST 8

int
thresh_parse(const char *text, struct thresh_limit *limit)
{
	size_t length = strlen(text);
	char number[LONGEST + 1];
	const char *point;
	double percent;

	if (length && text[length - 1] == ':')
		length--;
	if (length && text[length - 1] == '%')
		length--;
	point = memchr(text, '.', length);
	if (length > LONGEST) {
		errno = point ? EDOM : EINVAL;
		return -1;
	}
	memcpy(number, text, length);
	number[length] = '\0';
	if (strchr(number, '%')) {
		errno = EINVAL;
		return -1;
	}
	if (num_percent(number, &percent) < 0)
		return -1;
	if (point && text + length - point > 3) {
		errno = EDOM;
		return -1;
	}
	limit->hundredths = (unsigned)(percent * 100 + 0.5);
	limit->set = true;
	return 0;
}

char *
thresh_text(unsigned hundredths, char text[static THRESH_TEXT])
{
	unsigned whole = hundredths / 100 % 1000, part = hundredths % 100;

	if (part == 0)
		snprintf(text, THRESH_TEXT, "%u", whole);
	else if (part % 10 == 0)
		snprintf(text, THRESH_TEXT, "%u.%u", whole, part / 10);
	else
		snprintf(text, THRESH_TEXT, "%u.%02u", whole, part);
	return text;
}

bool
thresh_crossed(const struct thresh *thresh)
{
	return thresh->warning.set && thresh->critical.set &&
	    thresh->critical.hundredths > thresh->warning.hundredths;
}

/* 128 bits: the product of a count of pages and 10,000 may exceed 64. */
static bool
is_below(const struct thresh_limit *limit, uint64_t part, uint64_t whole)
{
	unsigned __int128 figure = (unsigned __int128)part * THRESH_WHOLE;

	return limit->set && figure < (unsigned __int128)whole * limit->hundredths;
}

enum status
thresh_verdict(const struct thresh *thresh, uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return STATUS_UNKNOWN;
	if (is_below(&thresh->critical, part, whole))
		return STATUS_FAILED;
	return is_below(&thresh->warning, part, whole) ? STATUS_PART : STATUS_DONE;
}

enum status
thresh_certain(const struct thresh *thresh, const struct thresh_span *span)
{
	enum status best = thresh_verdict(thresh, span->most, span->whole);

	if (best != STATUS_DONE || thresh_verdict(thresh, span->least, span->whole) == STATUS_DONE)
		return best;
	return STATUS_UNKNOWN;
}

const struct thresh_limit *
thresh_broken(const struct thresh *thresh, enum status status)
{
	if (status == STATUS_FAILED)
		return &thresh->critical;
	return status == STATUS_PART ? &thresh->warning : NULL;
}

unsigned
thresh_figure(const struct thresh *thresh, uint64_t part, uint64_t whole)
{
	unsigned __int128 exact = (unsigned __int128)part * THRESH_WHOLE;
	unsigned down = (unsigned)(exact / whole);
	unsigned nearest = (unsigned)num_portion(part, whole, THRESH_WHOLE);
	enum status status = thresh_verdict(thresh, part, whole);

	/* limits are whole hundredths: the figure rounded up meets one or none */
	return thresh_verdict(thresh, nearest, THRESH_WHOLE) == status ? nearest : down;
}
