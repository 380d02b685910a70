/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "num.h"

#include <errno.h>

#include "tap.h"

typedef int reader(const char *text, uint64_t *value);

static void
check(reader *read, const char *what, const char *text, uint64_t wanted, int error)
{
	uint64_t value = 0;
	char name[80];
	int result;

	errno = 0;
	result = read(text, &value);
	snprintf(name, sizeof name, "%s \"%s\"", what, text);
	if (error)
		ok(result == -1 && errno == error, name);
	else
		ok(result == 0 && value == wanted, name);
}

static void
check_human(uint64_t bytes, const char *wanted)
{
	char text[NUM_HUMAN];

	is(num_human(bytes, text), wanted, wanted);
}

static void
counts(void)
{
	check(num_count, "count", "0", 0, 0);
	check(num_count, "count", "18446744073709551615", UINT64_MAX, 0);
	check(num_count, "count", "18446744073709551616", 0, ERANGE);
	check(num_count, "count", "", 0, EINVAL);
	check(num_count, "count", " 1", 0, EINVAL);
	check(num_count, "count", "-1", 0, EINVAL);
	check(num_count, "count", "+1", 0, EINVAL);
	check(num_count, "count", "1x", 0, EINVAL);
	check(num_count, "count", "0x10", 0, EINVAL);
}

static void
sizes(void)
{
	check(num_size, "size", "4096", 4096, 0);
	check(num_size, "size", "4k", 4096, 0);
	check(num_size, "size", "10M", 10ULL << 20, 0);
	check(num_size, "size", "2G", 2ULL << 30, 0);
	check(num_size, "size", "1t", 1ULL << 40, 0);
	check(num_size, "size", "16777215T", 16777215ULL << 40, 0);
	check(num_size, "size", "16777216T", 0, ERANGE);
	check(num_size, "size", "k", 0, EINVAL);
	check(num_size, "size", "4kk", 0, EINVAL);
	check(num_size, "size", "4 k", 0, EINVAL);
	check(num_size, "size", "4K ", 0, EINVAL);
	check(num_size, "size", "1.5G", 0, EINVAL);
}

static void
durations(void)
{
	check(num_duration, "duration", "5", 5000000000, 0);
	check(num_duration, "duration", "5s", 5000000000, 0);
	check(num_duration, "duration", "0.25", 250000000, 0);
	check(num_duration, "duration", "250ms", 250000000, 0);
	check(num_duration, "duration", "1.5m", 90000000000, 0);
	check(num_duration, "duration", "1h", 3600000000000, 0);
	check(num_duration, "duration", "1d", 86400000000000, 0);
	check(num_duration, "duration", "0", 0, 0);
	check(num_duration, "duration", "0.000ms", 0, 0);
	check(num_duration, "duration", "0.000000001", 1, 0);
	check(num_duration, "duration", "0.0000000001", 0, ERANGE);
	check(num_duration, "duration", "0.0000001ms", 0, ERANGE);
	check(num_duration, "duration", "1.", 0, EINVAL);
	check(num_duration, "duration", ".5", 0, EINVAL);
	check(num_duration, "duration", "5x", 0, EINVAL);
	check(num_duration, "duration", "99999999999d", 0, ERANGE);
}

static void
percents(void)
{
	double percent = -1;

	ok(num_percent("85%", &percent) == 0 && percent > 84.999 && percent < 85.001, "85%");
	ok(num_percent("99.5", &percent) == 0 && percent > 99.499 && percent < 99.501, "99.5");
	ok(num_percent("100", &percent) == 0 && percent > 99.999, "100");
	ok(num_percent("100.1", &percent) < 0 && errno == ERANGE, "100.1");
	ok(num_percent("85%%", &percent) < 0 && errno == EINVAL, "85%%");
	ok(num_percent("%", &percent) < 0 && errno == EINVAL, "%");
}

static void
ranges(void)
{
	struct num_range range;

	ok(num_range("4k", &range) == 0 && range.offset == 4096 && range.length == UINT64_MAX,
	    "4k");
	ok(num_range("1M:4k", &range) == 0 && range.offset == 1 << 20 && range.length == 4096,
	    "1M:4k");
	ok(num_range(":4k", &range) < 0 && errno == EINVAL, ":4k");
	ok(num_range("4k:", &range) < 0 && errno == EINVAL, "4k:");
	ok(num_range("1:2:3", &range) < 0 && errno == EINVAL, "1:2:3");
}

static void
shares(void)
{
	struct num_share share;

	ok(num_share("25%", &share) == 0 && num_share_of(&share, 1000) == 250, "25% of 1000");
	ok(num_share("1k", &share) == 0 && num_share_of(&share, 1000) == 1024, "1k of 1000");
	ok(num_share("0%", &share) == 0 && num_share_of(&share, 1000) == 0, "0% of 1000");
	ok(num_share("101%", &share) < 0 && errno == ERANGE, "101%");
}

int
main(void)
{
	counts();
	sizes();
	durations();
	percents();
	ranges();
	shares();
	ok(num_sum(UINT64_MAX - 2, 1) == UINT64_MAX - 1, "a sum");
	ok(num_sum(UINT64_MAX - 2, 3) == NUM_UNKNOWN, "a sum that is too large");
	ok(num_sum(NUM_UNKNOWN, 0) == NUM_UNKNOWN, "a sum of what is unknown");
	check_human(0, "0B");
	check_human(999, "999B");
	check_human(1000, "1.0K");
	check_human(1023, "1.0K");
	check_human(1536, "1.5K");
	check_human(10 << 10, "10K");
	check_human(999 << 10, "999K");
	check_human(1000 << 10, "1.0M");
	check_human(UINT64_MAX, "16E");
	return tap_done();
}
