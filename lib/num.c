/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "num.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NSEC 1000000000ULL

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* The digits at *TEXT, which then points behind them. */
static int
digits(const char **text, uint64_t *value)
{
	const char *at = *text;
	uint64_t sum = 0;

	if (*at < '0' || *at > '9')
		return fail(EINVAL);
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return fail(ERANGE);
	}
	*text = at;
	*value = sum;
	return 0;
}

/* As digits, then "." and decimals, which give *FRACTION in billionths. */
static int
decimal(const char **text, uint64_t *whole, uint64_t *fraction)
{
	uint64_t unit = NSEC / 10;

	if (digits(text, whole) < 0)
		return -1;
	*fraction = 0;
	if (**text != '.')
		return 0;
	++*text;
	if (**text < '0' || **text > '9')
		return fail(EINVAL);
	for (; **text >= '0' && **text <= '9'; ++*text, unit /= 10)
		*fraction += (uint64_t)(**text - '0') * unit;
	return 0;
}

int
num_count(const char *text, uint64_t *value)
{
	if (digits(&text, value) < 0)
		return -1;
	return *text ? fail(EINVAL) : 0;
}

static int
size_prefix(const char **text, uint64_t *bytes)
{
	static const char units[] = "kmgt";
	const char *unit;

	if (digits(text, bytes) < 0)
		return -1;
	unit = **text ? strchr(units, **text | 0x20) : NULL;
	if (!unit)
		return 0;
	++*text;
	if (__builtin_mul_overflow(*bytes, 1ULL << (10 * (unit - units + 1)), bytes))
		return fail(ERANGE);
	return 0;
}

int
num_size(const char *text, uint64_t *bytes)
{
	if (size_prefix(&text, bytes) < 0)
		return -1;
	return *text ? fail(EINVAL) : 0;
}

int
num_percent(const char *text, double *percent)
{
	uint64_t whole, fraction;

	if (decimal(&text, &whole, &fraction) < 0)
		return -1;
	if (*text == '%')
		text++;
	if (*text)
		return fail(EINVAL);
	if (whole > 100 || (whole == 100 && fraction))
		return fail(ERANGE);
	*percent = (double)whole + (double)fraction / NSEC;
	return 0;
}

int
num_duration(const char *text, uint64_t *nanoseconds)
{
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {
		{ "", NSEC },
		{ "s", NSEC },
		{ "ms", NSEC / 1000 },
		{ "m", 60 * NSEC },
		{ "h", 3600 * NSEC },
		{ "d", 86400 * NSEC },
	};
	bool none = !text[strcspn(text, "123456789")];
	uint64_t whole, fraction, part;

	if (decimal(&text, &whole, &fraction) < 0)
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		part = (uint64_t)((double)fraction * ((double)units[i].nanoseconds / NSEC));
		if (__builtin_mul_overflow(whole, units[i].nanoseconds, &whole) ||
		    __builtin_add_overflow(whole, part, nanoseconds))
			return fail(ERANGE);
		/* 0 stands for no limit, which nobody asked for */
		return *nanoseconds == 0 && !none ? fail(ERANGE) : 0;
	}
	return fail(EINVAL);
}

uint64_t
num_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? NUM_UNKNOWN : sum;
}

uint64_t
num_portion(uint64_t part, uint64_t whole, uint64_t units)
{
	/* 128 bits: the product may exceed 64 */
	uint64_t nearest = (uint64_t)(((unsigned __int128)part * units + whole / 2) / whole);

	if (nearest >= units && part < whole)
		return units - 1;
	return nearest == 0 && part > 0 ? 1 : nearest;
}

uint64_t
num_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int
num_range(const char *text, struct num_range *range)
{
	range->length = UINT64_MAX;
	if (size_prefix(&text, &range->offset) < 0)
		return -1;
	if (*text == ':') {
		text++;
		if (size_prefix(&text, &range->length) < 0)
			return -1;
	}
	return *text ? fail(EINVAL) : 0;
}

int
num_share(const char *text, struct num_share *share)
{
	size_t length = strlen(text);

	share->percent = -1;
	share->bytes = 0;
	if (length && text[length - 1] == '%')
		return num_percent(text, &share->percent);
	return num_size(text, &share->bytes);
}

uint64_t
num_share_of(const struct num_share *share, uint64_t whole)
{
	if (share->percent < 0)
		return share->bytes;
	return (uint64_t)((double)whole * share->percent / 100);
}

char *
num_human(uint64_t bytes, char text[static NUM_HUMAN])
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	int unit = 0;

	while (value >= 999.5 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(text, NUM_HUMAN, "%.0fB", value);
	else
		snprintf(text, NUM_HUMAN, value < 9.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return text;
}
