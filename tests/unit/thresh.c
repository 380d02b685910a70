/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thresh.h"

#include <errno.h>
#include <stdint.h>

#include "tap.h"

static struct thresh_limit
limit(unsigned hundredths)
{
	return (struct thresh_limit){ .set = true, .hundredths = hundredths };
}

static void
accepts(const char *text, unsigned hundredths)
{
	struct thresh_limit got = { 0 };

	ok(thresh_parse(text, &got) == 0 && got.set && got.hundredths == hundredths, text);
}

static void
refuses(const char *text, int error)
{
	struct thresh_limit got = { 0 };

	errno = 0;
	ok(thresh_parse(text, &got) < 0 && errno == error && !got.set, text);
}

static void
parsing(void)
{
	static const char *const wrong[] = { "", ":", "%", "%:", "90::", "90%%", "90:%", ":90",
		"10:90", "90:100", "~:90", "@90", "@90:", "-5", "+5", " 90", "90 ", "90.", ".5",
		"9e1", "0x5a", "90,5", "ninety", "nan", "inf", "90%x", "00000000090",
		"99999999999999999999" };

	accepts("90", 9000);
	accepts("90%", 9000);
	accepts("90:", 9000);
	accepts("90%:", 9000);
	accepts("90.5", 9050);
	accepts("90.50%", 9050);
	accepts("0", 0);
	accepts("0.01", 1);
	accepts("100", 10000);
	accepts("100.00%:", 10000);
	accepts("99.99", 9999);
	accepts("57.29", 5729); /* no binary fraction: 5728.999... */
	accepts("090", 9000);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		refuses(wrong[i], EINVAL);
	refuses("101", ERANGE);
	refuses("100.01", ERANGE);
	refuses("90.001", EDOM);
	refuses("90.00000000001", EDOM);
}

static void
texts(void)
{
	char text[THRESH_TEXT];

	is(thresh_text(9000, text), "90", "90");
	is(thresh_text(9050, text), "90.5", "90.5");
	is(thresh_text(9005, text), "90.05", "90.05");
	is(thresh_text(1, text), "0.01", "0.01");
	is(thresh_text(10000, text), "100", "100");
	is(thresh_text(UINT32_MAX, text) == text ? "" : "?", "", "fits whatever the number");
}

static void
verdicts(void)
{
	const struct thresh both = { limit(9000), limit(8000) };
	const struct thresh warning = { .warning = limit(9000) };
	const struct thresh critical = { .critical = limit(8000) };
	const struct thresh all = { .critical = limit(10000) };
	const struct thresh none = { .critical = limit(0) };
	const struct thresh crossed = { limit(8000), limit(9000) };
	const uint64_t huge = UINT64_MAX;

	ok(thresh_verdict(&both, 90, 100) == STATUS_DONE, "at the warning limit: OK");
	ok(thresh_verdict(&both, 89999, 100000) == STATUS_PART, "just below: WARNING");
	ok(thresh_verdict(&both, 80, 100) == STATUS_PART, "at the critical limit: WARNING");
	ok(thresh_verdict(&both, 79999, 100000) == STATUS_FAILED, "just below: CRITICAL");
	ok(thresh_verdict(&both, 0, 0) == STATUS_UNKNOWN, "no access: UNKNOWN");
	ok(thresh_verdict(&warning, 0, 1) == STATUS_PART, "without -c never CRITICAL");
	ok(thresh_verdict(&critical, 85, 100) == STATUS_DONE, "without -w never WARNING");
	ok(thresh_verdict(&all, huge - 1, huge) == STATUS_FAILED, "one page in 2^64 is missed");
	ok(thresh_verdict(&all, huge, huge) == STATUS_DONE, "nor does the product overflow");
	ok(thresh_verdict(&none, 0, huge) == STATUS_DONE, "nothing is below 0");
	ok(thresh_crossed(&crossed), "critical above warning");
	ok(!thresh_crossed(&both) && !thresh_crossed(&warning) && !thresh_crossed(&critical),
	    "not crossed");
	ok(thresh_broken(&both, STATUS_FAILED) == &both.critical, "CRITICAL is about -c");
	ok(thresh_broken(&both, STATUS_PART) == &both.warning, "WARNING is about -w");
	ok(!thresh_broken(&both, STATUS_DONE) && !thresh_broken(&both, STATUS_UNKNOWN),
	    "OK and UNKNOWN are about none");
}

static void
spans(void)
{
	const struct thresh both = { limit(9000), limit(8000) };
	static const struct {
		const char *name;
		struct thresh_span span;
		enum status status;
	} cases[] = {
		{ "OK at worst", { 90, 99, 100 }, STATUS_DONE },
		{ "OK, or a warning", { 89, 99, 100 }, STATUS_UNKNOWN },
		{ "OK, or critical", { 0, 100, 100 }, STATUS_UNKNOWN },
		{ "a warning at best, and at worst", { 80, 89, 100 }, STATUS_PART },
		{ "a warning at best, critical at worst", { 79, 89, 100 }, STATUS_PART },
		{ "critical at best", { 0, 79, 100 }, STATUS_FAILED },
		{ "exact", { 90, 90, 100 }, STATUS_DONE },
		{ "of nothing", { 0, 0, 0 }, STATUS_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(thresh_certain(&both, &cases[i].span) == cases[i].status, cases[i].name);
}

static void
figures(void)
{
	const struct thresh both = { limit(9000), limit(8000) };
	const struct thresh none = { 0 };
	int contradictions = 0;

	ok(thresh_figure(&both, 12345, 12686) == 9731, "97.31");
	ok(thresh_figure(&both, 89996, 100000) == 8999, "89.996 is shown as 89.99, not 90.00");
	ok(thresh_figure(&none, 89996, 100000) == 9000, "unless it is no limit");
	ok(thresh_figure(&both, 79999, 100000) == 7999, "79.999 is shown as 79.99");
	ok(thresh_figure(&both, 89994, 100000) == 8999, "89.994");
	ok(thresh_figure(&both, 90004, 100000) == 9000, "90.004");
	ok(thresh_figure(&none, 99999, 100000) == 9999, "100.00 only where nothing was missed");
	ok(thresh_figure(&none, 1, 99999) == 1, "0.00 only where nothing hit");
	ok(thresh_figure(&none, 5, 5) == 10000, "100.00");
	ok(thresh_figure(&none, 0, 5) == 0, "0.00");
	ok(thresh_figure(&none, UINT64_MAX, UINT64_MAX) == 10000, "huge");
	for (uint64_t whole = 1; whole < 2000; whole++) {
		for (uint64_t part = 0; part <= whole; part++) {
			unsigned figure = thresh_figure(&both, part, whole);

			contradictions += thresh_verdict(&both, part, whole) !=
			    thresh_verdict(&both, figure, THRESH_WHOLE);
		}
	}
	ok(contradictions == 0, "the figure never contradicts the verdict");
}

int
main(void)
{
	parsing();
	texts();
	verdicts();
	spans();
	figures();
	return tap_done();
}
