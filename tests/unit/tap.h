/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdio.h>
#include <string.h>

/* TAP for the unit tests: main() calls ok() and is(), and returns tap_done(). */

static int tap_run, tap_failed;

static inline void
tap_verdict(int passed, const char *name, const char *file, int line)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++tap_run, name);
	if (!passed) {
		tap_failed++;
		printf("# at %s:%d\n", file, line);
	}
}

static inline void
tap_is(const char *got, const char *wanted, const char *name, const char *file, int line)
{
	int passed = strcmp(got, wanted) == 0;

	tap_verdict(passed, name, file, line);
	if (!passed)
		printf("# got:    %s\n# wanted: %s\n", got, wanted);
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_run);
	return tap_failed != 0;
}

#define ok(condition, name)   tap_verdict(!!(condition), name, __FILE__, __LINE__)
#define is(got, wanted, name) tap_is(got, wanted, name, __FILE__, __LINE__)

#endif
