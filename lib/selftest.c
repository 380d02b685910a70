/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "selftest.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "stop.h"

/* How often a workload is run at most, where pages were evicted meanwhile. */
#define TRIES 5

enum field {
	F_CASE,
	F_TRUTH_HITS,
	F_TRUTH_MISSES,
	F_HITS,
	F_MISSES,
	F_VERDICT,
	F_TIER,
	FIELDS,
};

static const struct out_field fields[FIELDS] = {
	[F_CASE] = { "case", OUT_STRING, "case", false, "how the file is read" },
	[F_TRUTH_HITS] = { "truth_hits", OUT_COUNT, "hitratio_selftest_truth_hits", false,
	    "hits that there were" },
	[F_TRUTH_MISSES] = { "truth_misses", OUT_COUNT, "hitratio_selftest_truth_misses", false,
	    "misses that there were" },
	[F_HITS] = { "hits", OUT_COUNT, "hitratio_selftest_hits", false,
	    "hits that were counted; none of a mapping" },
	[F_MISSES] = { "misses", OUT_COUNT, "hitratio_selftest_misses", false,
	    "misses that were counted; of a mapping, fault misses" },
	[F_VERDICT] = { "verdict", OUT_STRING, NULL, false, "exact, differs or unknown" },
	[F_TIER] = { "tier", OUT_STRING, "tier", false, "how it was counted" },
};

static const struct out_column columns[] = {
	{ F_CASE, "CASE", -28, false },
	{ F_TRUTH_HITS, "TRUE_HITS", 9, false },
	{ F_TRUTH_MISSES, "TRUE_MISSES", 11, false },
	{ F_HITS, "HITS", 8, false },
	{ F_MISSES, "MISSES", 8, false },
	{ F_VERDICT, "VERDICT", -7, false },
	{ 0 },
};

const struct out_table selftest_table = {
	.fields = fields,
	.count = FIELDS,
	.columns = columns,
	.mode = "--self-test",
};

int
selftest_open(struct selftest *test, struct probe *probe, const char *folder)
{
	test->probe = probe;
	if (workload_open(&test->file, folder) < 0)
		return -1;
	/* our own pages shall not come in while a child's faults are counted; where that is not
	 * allowed, they are in memory most likely */
	mlockall(MCL_CURRENT);
	probe_start(probe);
	return 0;
}

void
selftest_close(struct selftest *test)
{
	workload_close(&test->file);
}

static _Noreturn void
be_target(struct selftest *test, const struct workload *workload, const int go[2])
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]); /* else we would not see the parent die */
	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	errno = 0;
	if (workload->run(&test->file) < 0)
		test->file.book->error = errno ? errno : EIO;
	_exit(0);
}

/* The child that waits for child_release(*GO). -1 with errno. */
static pid_t
start_target(struct selftest *test, const struct workload *workload, int *go)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		be_target(test, workload, ends);
	close(ends[0]);
	*go = ends[1];
	if (pid < 0)
		close(ends[1]);
	return pid;
}

/* Waits for its end, or brings that about where we are to stop. */
static int
end_target(pid_t pid)
{
	int fd = child_pidfd(pid), wait_status = 0;

	if (fd >= 0)
		stop_sleep(UINT64_MAX, fd);
	if (fd >= 0)
		close(fd);
	if (stop_asked())
		kill(pid, SIGKILL);
	if (child_wait(pid, &wait_status) < 0)
		return -1;
	if (wait_status == 0)
		return 0;
	errno = stop_asked() ? EINTR : ECHILD;
	return -1;
}

static int
sums(const struct selftest *test, struct counters *counters)
{
	if (probe_settle(test->probe) < 0)
		return -1;
	return probe_sums(test->probe, SCOPE_TARGET, counters);
}

/* Runs the child; the counters from before it and after it. */
static int
count(struct selftest *test, const struct workload *workload, struct counters of[2])
{
	int go, result = -1;
	pid_t pid = start_target(test, workload, &go);

	if (pid < 0)
		return -1;
	if (probe_target(test->probe, pid) == 0 && sums(test, &of[0]) == 0)
		result = child_release(go);
	else
		close(go); /* it ends without having done anything */
	if (end_target(pid) < 0 || result < 0)
		return -1;
	errno = test->file.book->error;
	return errno ? -1 : sums(test, &of[1]);
}

static void
compare(const struct selftest *test, const struct counters of[2], struct selftest_result *result)
{
	enum counter misses = result->workload->mapped ? FAULT_MISSES : MISSES;

	result->truth_hits = test->file.book->hits;
	result->truth_misses = test->file.book->misses;
	result->hits = of[1].of[HITS] - of[0].of[HITS];
	result->misses = of[1].of[misses] - of[0].of[misses];
	result->status = result->misses == result->truth_misses &&
		(result->workload->mapped || result->hits == result->truth_hits)
	    ? STATUS_DONE
	    : STATUS_FAILED;
}

void
selftest_run(struct selftest *test, const struct workload *workload, struct selftest_result *result)
{
	struct counters of[2];
	int kept = 0;

	*result = (struct selftest_result){ .workload = workload, .status = STATUS_UNKNOWN };
	for (int i = 0; i < TRIES && kept == 0; i++) {
		probe_tidy(test->probe);
		if (workload->prepare(&test->file) < 0 || count(test, workload, of) < 0)
			kept = -1;
		else
			kept = workload_kept(&test->file);
	}
	if (kept == 1)
		compare(test, of, result);
	else if (kept < 0)
		result->error = errno;
}

int
selftest_row(struct out *out, const struct selftest *test, const struct selftest_result *result)
{
	static const char *const verdicts[] = { [STATUS_DONE] = "exact",
		[STATUS_FAILED] = "differs",
		[STATUS_UNKNOWN] = "unknown" };
	struct out_value values[FIELDS] = { 0 };

	values[F_CASE] = out_string(result->workload->name);
	values[F_VERDICT] = out_string(verdicts[result->status]);
	values[F_TIER] = out_string(probe_tier(test->probe));
	if (result->status != STATUS_UNKNOWN) {
		values[F_TRUTH_MISSES] = out_number(result->truth_misses);
		values[F_MISSES] = out_number(result->misses);
	}
	if (result->status != STATUS_UNKNOWN && !result->workload->mapped) {
		values[F_TRUTH_HITS] = out_number(result->truth_hits);
		values[F_HITS] = out_number(result->hits);
	}
	return out_row(out, values);
}
