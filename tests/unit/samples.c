/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "samples.h"

#include <stdlib.h>

#include "tap.h"

/* Feeds TEXT in pieces of SIZE bytes. */
static int
feed(struct samples *samples, const char *text, size_t length, size_t size)
{
	samples_start(samples);
	for (; length; text += size, length -= size) {
		if (size > length)
			size = length;
		if (samples_feed(samples, text, size) < 0)
			return -1;
	}
	return samples_end(samples);
}

struct sums {
	unsigned long long hits, misses, lost, rows, unknown;
};

static void
sums(const char *name, const char *text, struct sums wanted)
{
	static const size_t sizes[] = { 1, 7, 1 << 20 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct samples got;
		int result = feed(&got, text, strlen(text), sizes[i]);

		ok(result == 0 && got.hits == wanted.hits && got.misses == wanted.misses &&
			got.lost == wanted.lost && got.rows == wanted.rows &&
			got.unknown == wanted.unknown,
		    name);
		if (result < 0)
			printf("# line %llu: %s\n", (unsigned long long)got.at, got.problem);
	}
}

static void
fails(const char *text, unsigned long long line, const char *problem)
{
	struct samples got;

	ok(feed(&got, text, strlen(text), 1 << 20) < 0, problem);
	is(got.problem ? got.problem : "none", problem, "the problem");
	ok(got.at == line, "its line");
	if (got.at != line)
		printf("# line %llu, not %llu\n", (unsigned long long)got.at, line);
}

static void
tables(void)
{
	sums("cachestat",
	    "    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n"
	    "  142030     3120     1801   97.85%          192       3184\n"
	    "  138911     4102     2043   97.13%          192       3211\n",
	    (struct sums){ 280941, 7222, 0, 2, 0 });
	sums("cachestat with time",
	    "TIME         HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n"
	    "12:00:01        1        2        3   33.33%            4          5\n",
	    (struct sums){ 1, 2, 0, 1, 0 });
	sums("older cachestat, other order",
	    "   TOTAL   MISSES     HITS  DIRTIES   BUFFERS_MB  CACHED_MB\n"
	    "     100       30       70        0            1          2\n",
	    (struct sums){ 70, 30, 0, 1, 0 });
	sums("a greeting, and the heading again",
	    "Counting cache functions... Output every 1 seconds.\n\n"
	    "HITS MISSES RATIO\n7 3 70%\n\nHITS MISSES RATIO\n1 1 50%\n",
	    (struct sums){ 8, 4, 0, 2, 0 });
	sums("carriage returns", "hits misses\r\n1 2\r\n3 4\r\n", (struct sums){ 4, 6, 0, 2, 0 });
	sums("unknown rows", "HITS MISSES RATIO\n- - -\n5 5 50%\n- 3 -\n",
	    (struct sums){ 5, 5, 0, 3, 2 });
	sums("tsv with empty cells",
	    "time\tratio\thits\tmisses\tlost\ttier\n1.000\t\t\t\t\t\n"
	    "2.000\t50.00\t2\t2\t1\texact: tracepoints\n",
	    (struct sums){ 2, 2, 1, 2, 1 });
	sums("tsv whose row is all tabs", "hits\tmisses\tlost\n\t\t\n1\t2\t\n",
	    (struct sums){ 1, 2, 0, 2, 1 });
	sums("the largest sum", "HITS MISSES\n18446744073709551614 1\n",
	    (struct sums){ 18446744073709551614ULL, 1, 0, 1, 0 });
	fails("", 1, "no heading that names HITS and MISSES");
	fails("nonsense\n1 2\n", 3, "no heading that names HITS and MISSES");
	fails("HITS\n1\n", 3, "no heading that names HITS and MISSES");
	fails("{\"hits\":1,\"misses\":2}\n", 2, "no heading that names HITS and MISSES");
	fails("HITS MISSES\n", 2, "no sample");
	fails("HITS MISSES\n1 2\nDetaching now\n", 3, "not a count of pages");
	fails("HITS MISSES\n1 2\n\n-1 2\n", 4, "not a count of pages");
	fails("HITS MISSES\n1.5 2\n", 2, "not a count of pages");
	fails("HITS MISSES\n0x10 2\n", 2, "not a count of pages");
	fails("HITS MISSES\n1k 2\n", 2, "not a count of pages");
	fails("HITS MISSES\nnan inf\n", 2, "not a count of pages");
	fails("HITS MISSES\n18446744073709551616 0\n", 2, "a figure is too large");
	fails("HITS MISSES\n18446744073709551615 0\n1 0\n", 3, "the sum is too large");
	fails("HITS MISSES\n18446744073709551615 1\n", 2, "the sum is too large");
	fails("hits\tmisses\n1\t2\n3\t4", 3, "the line has no end: it may have been cut");
	fails("HITS MISSES\n1 2\n3 4\r", 3, "the line has no end: it may have been cut");
	fails("HITS MISSES", 2, "no sample");
	fails("HITS MISSES RATIO\n1 2 3%\n1 2\n", 3, "more or fewer columns than the heading");
	fails("HITS MISSES\n1 2 3\n", 2, "more or fewer columns than the heading");
	fails("a\thits\tmisses\n1\t2\n", 2, "more or fewer columns than the heading");
}

static void
records(void)
{
	sums("kv", "time=1.000\nhits=10\nmisses=5\nlost=0\n\ntime=2.000\nhits=1\nmisses=1\n",
	    (struct sums){ 11, 6, 0, 2, 0 });
	sums("kv, unknown, empty lines", "\n\nhits=\nmisses=\n\n\nmisses=1\nhits=2\nlost=3\n\n",
	    (struct sums){ 2, 1, 3, 2, 1 });
	fails("hits=1\n", 2, "a sample without hits or misses");
	fails("hits=1\n\nmisses=1\n", 2, "a sample without hits or misses");
	fails("time=1\n\nhits=1\nmisses=1\n", 2, "a sample without hits or misses");
	fails("hits=1\nmisses=2\nhits=1\n", 3, "a figure is there twice");
	fails("hits=1\nmisses=2\nnonsense\n", 3, "not a line KEY=VALUE");
	fails("hits=2039\nmisses=1", 2, "the line has no end: it may have been cut");
	fails("hits=1\nmisses=2\nlost=", 3, "the line has no end: it may have been cut");
	fails("hits=1\nmisses=2\n\n ", 4, "the line has no end: it may have been cut");
	fails("hits='1'\nmisses=2\n", 1, "not a count of pages");
}

static void
estimates(void)
{
	static const struct {
		const char *text;
		bool estimated;
	} cases[] = {
		{ "hits\tmisses\ttier\n1\t1\texact: tracepoints\n", false },
		{ "hits\tmisses\ttier\n1\t1\tproc\n", true },
		{ "hits=\nmisses=\ntier=proc\n", true },
		{ "hits=1\nmisses=1\ntier=exact\n", false },
		{ "HITS MISSES\n1est 2est\n", true },
		{ "HITS MISSES\n1 2\n", false },
		{ "hits=\nmisses=\nhits_est=1\nmisses_est=2\n", true },
		{ "hits=3\nmisses=4\nhits_est=1\nmisses_est=2\n", false },
	};
	struct samples got;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = cases[i].text;

		ok(feed(&got, text, strlen(text), 1 << 20) == 0 &&
			got.estimated == cases[i].estimated,
		    "tier");
	}
	sums("estimates, text", "HITS MISSES RATIO\n1est 2est 33.33%est\n- 5est -\n",
	    (struct sums){ 1, 2, 0, 2, 1 });
	sums("estimates, tsv", "hits\tmisses\thits_est\tmisses_est\n\t\t3\t4\n\t\t\t4\n",
	    (struct sums){ 3, 4, 0, 2, 1 });
	fails("HITS MISSES\nest 2est\n", 2, "not a count of pages");
	fails("HITS MISSES\n1est 2estest\n", 2, "not a count of pages");
}

/* Lines longer than any sample, NUL bytes: skipped before the heading, refused after. */
static void
hostile(void)
{
	static const char heading[] = "HITS MISSES\n1 2\n", nul[] = "HITS MISSES\n1\0 2\n";
	const size_t long_line = 1 << 20;
	char *text = malloc(long_line + sizeof heading);
	struct samples got;

	if (!text)
		return;
	memset(text, '1', long_line);
	text[long_line] = '\n';
	memcpy(text + long_line + 1, heading, sizeof heading - 1);
	ok(feed(&got, text, long_line + sizeof heading, 4096) == 0 && got.hits == 1,
	    "a long greeting");
	memcpy(text, heading, sizeof heading - 1);
	text[long_line - 1] = '\n';
	ok(feed(&got, text, long_line, 4096) < 0, "a long row");
	is(got.problem, "the line is too long", "the problem");
	ok(feed(&got, nul, sizeof nul - 1, 4096) < 0, "a NUL byte");
	is(got.problem, "not text", "the problem");
	ok(feed(&got, nul, 13, 1) < 0, "a NUL byte at the end of a line cut short");
	free(text);
}

int
main(void)
{
	tables();
	records();
	estimates();
	hostile();
	return tap_done();
}
