/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "child.h"
#include "diag.h"
#include "logger.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "sampler.h"
#include "status.h"
#include "stop.h"
#include "thresh.h"
#include "verdict.h"

#define NSEC 1000000000ULL

/* What hitratio may need to start and to end, beyond the window. */
#define ALLOWANCE (30 * NSEC)

#define LOG_TAG      "cachecheck"
#define LOG_PATIENCE (2 * NSEC)

enum {
	F_STATUS,
	F_RATIO,
	F_ACCESSES,
	F_MISSES,
	F_THRESHOLD_WARN,
	F_THRESHOLD_CRIT,
	F_BASELINE,
	F_MESSAGE,
	F_ESTIMATE,
	FIELDS
};

static const struct out_field fields[FIELDS] = {
	[F_STATUS] = { "status", OUT_STATUS, "check_status", false,
	    "OK, WARNING, CRITICAL or UNKNOWN (prom: 0 to 3)" },
	[F_RATIO] = { "ratio", OUT_PERCENT, "check_ratio", false,
	    "share of the accesses that were hits" },
	[F_ACCESSES] = { "accesses", OUT_COUNT, "check_accesses", false,
	    "pages read in the window" },
	[F_MISSES] = { "misses", OUT_COUNT, "check_misses", false,
	    "of these, not in the page cache before" },
	[F_THRESHOLD_WARN] = { "threshold_warn", OUT_PERCENT, "check_threshold_warn_ratio", false,
	    "a ratio below it is a WARNING" },
	[F_THRESHOLD_CRIT] = { "threshold_crit", OUT_PERCENT, "check_threshold_crit_ratio", false,
	    "a ratio below it is CRITICAL" },
	[F_BASELINE] = { "baseline", OUT_PERCENT, "check_baseline_ratio", false,
	    "the usual ratio (not known yet)" },
	[F_MESSAGE] = { "message", OUT_STRING, NULL, false, "the verdict in words" },
	[F_ESTIMATE] = { "estimate", OUT_COUNT, "check_estimate", false,
	    "1 where the figures are an estimate, 0 where they were counted" },
};

static const struct out_column no_columns[] = { { 0 } };

static const struct out_table table = { .fields = fields, .count = FIELDS, .columns = no_columns };

struct options {
	const char *warning, *critical;
	bool syslog, estimate;
};

static const struct opts_option options[] = {
	{ 'w', "warning", "PCT", opts_text, offsetof(struct options, warning),
	    "WARNING where the ratio is below PCT (90, 90%, 90.5 or 90:)" },
	{ 'c', "critical", "PCT", opts_text, offsetof(struct options, critical),
	    "CRITICAL where the ratio is below PCT" },
	{ 0, "syslog", NULL, opts_flag, offsetof(struct options, syslog),
	    "log as " LOG_TAG " what is not OK, but not that nothing was read" },
	{ 0, "estimate", NULL, opts_flag, offsetof(struct options, estimate),
	    "judge an estimate too, where nothing can be counted" },
	{ 0 },
};

static const struct opts_tool tool = {
	.name = "ratio-check",
	.synopsis = "[options] [-w PCT] [-c PCT] [INTERVAL [COUNT]]\n"
		    "[options] [-w PCT] [-c PCT] -",
	.summary = "A verdict on the page-cache hit ratio, for cron and monitoring: one\n"
		   "line, and exit status 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. Runs\n"
		   "hitratio for COUNT (5) times INTERVAL (1 second); \"-\" reads what it\n"
		   "or cachestat printed. With -q, nothing is printed where all is well.",
	.tables = { &table },
};

/* What is judged: COUNT times INTERVAL of a run of hitratio, or standard input. */
struct request {
	const char *interval, *count;
	double seconds;
	uint64_t samples; /* 0: any number */
	uint64_t timeout; /* nanoseconds, 0: none */
	bool from_stdin, estimate;
};

static int
read_limit(const char *name, const char *text, struct thresh_limit *limit)
{
	if (!text || thresh_parse(text, limit) == 0)
		return 0;
	if (errno == ERANGE)
		opts_misuse("--%s: %s is above 100%%", name, text);
	else if (errno == EDOM)
		opts_misuse("--%s: %s has more than two decimals", name, text);
	else
		opts_misuse("--%s: \"%s\" is not a minimum such as 90, 90%%, 90.5 or 90:", name,
		    text);
	return -1;
}

static int
read_limits(const struct options *given, struct thresh *thresh)
{
	if (!given->warning && !given->critical) {
		opts_misuse("give a threshold with -w or -c");
		return -1;
	}
	if (read_limit("warning", given->warning, &thresh->warning) < 0 ||
	    read_limit("critical", given->critical, &thresh->critical) < 0)
		return -1;
	if (thresh_crossed(thresh)) {
		opts_misuse("-c %s is above -w %s: nothing could be a warning", given->critical,
		    given->warning);
		return -1;
	}
	return 0;
}

static int
read_window(char **operands, int count, struct request *request)
{
	uint64_t interval, window;

	request->from_stdin = count > 0 && strcmp(operands[0], "-") == 0;
	if (count > (request->from_stdin ? 1 : 2)) {
		opts_misuse("unexpected operand %s", operands[count - 1]);
		return -1;
	}
	request->interval = count > 0 ? operands[0] : "1";
	request->count = count > 1 ? operands[1] : "5";
	if (request->from_stdin)
		return 0;
	if (num_duration(request->interval, &interval) < 0 || interval == 0) {
		opts_misuse("\"%s\" is not an interval such as 1, 500ms or 2m", request->interval);
		return -1;
	}
	if (num_count(request->count, &request->samples) < 0 || request->samples == 0) {
		opts_misuse("\"%s\" is not a count of intervals", request->count);
		return -1;
	}
	if (__builtin_mul_overflow(interval, request->samples, &window) ||
	    __builtin_add_overflow(window, ALLOWANCE, &request->timeout)) {
		opts_misuse("%s times %s is too long", request->count, request->interval);
		return -1;
	}
	request->seconds = (double)window / NSEC;
	return 0;
}

static void
explain_absence(char *reason)
{
	/* child.c looks there for the folder that we lie in */
	if (access("/proc/self/exe", F_OK) < 0)
		strcpy(reason,
		    "hitratio is not in PATH, and without /proc, which is not mounted here, "
		    "nobody can tell what is beside ratio-check");
	else
		strcpy(reason, "hitratio is neither beside ratio-check nor in PATH");
}

static int
run_hitratio(const struct request *request, struct verdict *verdict)
{
	char *path = child_find("hitratio");
	char *argv[] = { path, "-f", "tsv", "--estimate", (char *)request->interval,
		(char *)request->count, NULL };
	int result;

	if (!path) {
		explain_absence(verdict->reason);
		return -1;
	}
	if (!request->estimate)
		memmove(&argv[3], &argv[4], sizeof argv - 4 * sizeof *argv);
	result = sampler_run(&verdict->samples, argv, verdict->reason);
	free(path);
	return result;
}

static void
explain_silence(const struct request *request, struct verdict *verdict)
{
	if (request->from_stdin)
		snprintf(verdict->reason, VERDICT_REASON, "no file reads in %" PRIu64 " samples",
		    verdict->samples.rows);
	else
		snprintf(verdict->reason, VERDICT_REASON, "no file reads in %.10g s",
		    request->seconds);
}

/* Whether the samples are such as may be judged; else the reason. */
static bool
are_figures(const struct request *request, struct verdict *verdict)
{
	const struct samples *samples = &verdict->samples;

	if (samples->estimated && !request->estimate)
		strcpy(verdict->reason, "the figures are an estimate, which --estimate accepts");
	else if (samples->unknown == samples->rows)
		snprintf(verdict->reason, VERDICT_REASON, "no figures in %" PRIu64 " samples",
		    samples->rows);
	else
		return true;
	return false;
}

static void
measure(const struct request *request, struct verdict *verdict)
{
	int result;

	if (request->from_stdin)
		result = sampler_read(&verdict->samples, STDIN_FILENO, "standard input",
		    verdict->reason);
	else
		result = run_hitratio(request, verdict);
	verdict->counted = result == 0 && are_figures(request, verdict);
	if (verdict->counted)
		explain_silence(request, verdict);
	else if (stop_asked() == SIGALRM)
		snprintf(verdict->reason, VERDICT_REASON, "no answer in %.10g s",
		    (double)request->timeout / NSEC);
}

static char *
compose(void (*put)(const struct verdict *, FILE *), const struct verdict *verdict)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	put(verdict, stream);
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

static struct out_value
limit_value(const struct thresh_limit *limit)
{
	return limit->set ? out_percent(limit->hundredths, THRESH_WHOLE) : out_unknown;
}

static int
put_row(struct out *out, const struct verdict *verdict, const char *message)
{
	const struct samples *samples = &verdict->samples;
	struct out_value values[FIELDS] = {
		[F_STATUS] = out_number(verdict->status),
		[F_THRESHOLD_WARN] = limit_value(&verdict->thresh.warning),
		[F_THRESHOLD_CRIT] = limit_value(&verdict->thresh.critical),
		[F_MESSAGE] = out_string(message),
	};

	if (verdict->known)
		values[F_RATIO] = out_percent(verdict->hundredths, THRESH_WHOLE);
	if (verdict->counted) {
		values[F_ACCESSES] = out_number(samples->hits + samples->misses);
		values[F_MISSES] = out_number(samples->misses);
		values[F_ESTIMATE] = out_number(samples->estimated);
	}
	return out_row(out, values);
}

static int
report(struct out *out, const struct verdict *verdict)
{
	bool line = out->format == OUT_TEXT;
	char *text = compose(line ? verdict_line : verdict_message, verdict);
	int result = -1;

	if (text)
		result = line ? out_line(out, text) : put_row(out, verdict, text);
	free(text);
	return result < 0 ? -1 : out_commit(out);
}

/* Failed output is no verdict: never CRITICAL. */
static int
explain_output(const struct out *out)
{
	int status = out_explain(out);

	return status == STATUS_FAILED ? STATUS_UNKNOWN : status;
}

static void
raise_alarm(const struct verdict *verdict)
{
	int priority = verdict->status == STATUS_FAILED ? LOG_CRIT : LOG_WARNING;
	char *text = compose(verdict_alarm, verdict);

	if (!text || logger_send(LOGGER_SOCKET, priority, LOG_TAG, text, LOG_PATIENCE) < 0)
		diag_error("%s: %s (the verdict was not logged)", LOGGER_SOCKET, strerror(errno));
	free(text);
}

int
main(int argc, char **argv)
{
	struct options given = { 0 };
	struct opts_common common = { .timeout = NUM_UNKNOWN };
	struct request request = { 0 };
	struct verdict verdict = { 0 };
	struct out out;
	int status, first;

	first = opts_parse(&tool, (struct opts_group[]){ { options, &given }, { 0 } }, &common,
	    argc, argv, &status);
	if (first < 0)
		return status;
	if (opts_late(argv + first, (size_t)(argc - first)) ||
	    read_limits(&given, &verdict.thresh) < 0 ||
	    read_window(argv + first, argc - first, &request) < 0)
		return STATUS_UNKNOWN;
	if (common.timeout != NUM_UNKNOWN)
		request.timeout = common.timeout;
	request.estimate = given.estimate;
	stop_catch(request.timeout);
	if (out_open(&out, &table, common.format, common.output, stdout) < 0)
		return explain_output(&out);
	verdict.expected = request.samples;
	measure(&request, &verdict);
	verdict_judge(&verdict);
	status = verdict.known ? (int)verdict.status : stop_status(verdict.status);
	if (status != STATUS_DONE || !common.quiet || common.output) {
		if (report(&out, &verdict) < 0)
			status = explain_output(&out);
	}
	out_close(&out);
	/* a host at rest is no alarm: nobody wants it in the log every five minutes */
	if (given.syslog && verdict.status != STATUS_DONE && !verdict.idle)
		raise_alarm(&verdict);
	return status;
}
