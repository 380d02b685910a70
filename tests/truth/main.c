/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth [-l] [-t TIER] [-n PAGES] HITRATIO FOLDER [CASE...]: runs each workload under
 * "hitratio -p" and compares what it counted with what happened, page by page, on files of
 * PAGES pages in FOLDER. CASE is a name or a pattern of names. Prints TAP; -l only the names.
 *
 * truth -r FILE reads FILE page by page, for a workload that has it do so.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "judge.h"
#include "observer.h"
#include "subject.h"
#include "truth.h"

/* Tries of a case, on a machine that reclaims pages: after as many, and as many seconds, as
 * these it has failed. */
#define TRIES    20
#define PATIENCE 120

struct run {
	char *const *names; /* of cases; none: all but those that must be named */
	struct work work;
	struct observer observer;
	struct runner runner;
	unsigned number, wrong;
	unsigned long long missing; /* events of all cases, see judge_missing */
	bool ended;                 /* hitratio, which it should not have */
};

static void
fail(struct run *run, const struct workload *load, const char *what)
{
	run->wrong++;
	printf("not ok %u - %s: %s\n", run->number, load->name, what);
}

/* Runs what is prepared; false where hitratio has ended. */
static bool
observe(struct run *run, const struct workload *load)
{
	if (!observer_take(&run->observer, load->flags & LOOKED_AT))
		return false;
	memset(&run->observer.figures, 0, sizeof run->observer.figures);
	return !runner_run(&run->runner) || observer_take(&run->observer, false);
}

/* One try; false where the starting state did not last. */
static bool
try_case(struct run *run, const struct workload *load)
{
	struct truth *truth = run->work.truth;
	int status;

	memset(truth, 0, sizeof *truth);
	if (runner_prepare(&run->runner, load) && !observe(run, load))
		run->ended = true;
	truth->fills = run->observer.figures.fills;
	status = runner_finish(&run->runner);
	if (status == SUBJECT_DECAYED && !run->ended)
		return false;
	if (run->ended)
		fail(run, load, "hitratio has ended");
	else if (status == SUBJECT_SKIPPED)
		printf("ok %u - %s # SKIP %s\n", run->number, load->name, truth->reason);
	else if (status != SUBJECT_DONE)
		fail(run, load, "the workload failed");
	else {
		run->wrong += !judge(load, truth, &run->observer.figures, run->number);
		run->missing += judge_missing(truth, &run->observer.figures);
	}
	return true;
}

/* The seconds of a clock that nobody sets. */
static time_t
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void
run_case(struct run *run, const struct workload *load)
{
	time_t start = seconds();
	char what[300];
	int tries = 0;

	run->number++;
	while (!try_case(run, load)) {
		if (++tries >= TRIES && seconds() - start >= PATIENCE) {
			snprintf(what, sizeof what,
			    "the starting state never lasted, in %d tries; at last: %s", tries,
			    run->work.truth->reason);
			fail(run, load, what);
			break;
		}
		/* what reclaims does so in bouts: not all tries are to fall into one */
		usleep(tries < TRIES ? 10000 : 500000);
	}
	fflush(stdout);
}

static bool
is_asked(const struct run *run, const struct workload *load)
{
	if (!run->names[0])
		return !(load->flags & NAMED_ONLY);
	for (char *const *name = run->names; *name; name++)
		if (strcmp(load->name, *name) == 0 ||
		    (!(load->flags & NAMED_ONLY) && fnmatch(*name, load->name, 0) == 0))
			return true;
	return false;
}

/* Calls ACT for each case that was asked for. */
static void
for_each(struct run *run, void (*act)(struct run *, const struct workload *))
{
	const struct workload *const kinds[] = { product_cases(), read_cases, uring_cases,
		mapped_cases, written_cases, shared_cases, frozen_cases, unmounted_cases,
		processor_cases, attached_cases, large_cases };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (const struct workload *load = kinds[i]; load->name; load++)
			if (is_asked(run, load) && !run->ended)
				act(run, load);
}

static void
list_case(struct run *run, const struct workload *load)
{
	run->number++;
	printf("%s%s\n", load->name, load->flags & NAMED_ONLY ? "\t(only when named)" : "");
}

/* Whether hitratio, which ended with STATUS, has noticed what cases lack, and lacks nothing
 * else. */
static bool
has_noticed(const struct run *run, int status)
{
	unsigned long long uncounted = run->observer.uncounted;

	return WIFEXITED(status) && WEXITSTATUS(status) == 130 &&
	    (run->missing ? uncounted >= run->missing : uncounted == 0);
}

/* What hitratio says at its end of all that it has seen. */
static void
judge_account(struct run *run)
{
	const struct observer *observer = &run->observer;
	int status = run->ended ? -1 : observer_end(&run->observer);
	bool right = observer->balanced && has_noticed(run, status);

	run->number++;
	run->wrong += !right;
	printf("%sok %u - what came in is somewhere: %s", right ? "" : "not ", run->number,
	    observer->balanced ? observer->account : observer->complaint);
	if (run->missing || observer->uncounted)
		printf("; %llu events missing, %llu noticed", run->missing, observer->uncounted);
	putchar('\n');
}

static int
run_all(struct run *run)
{
	run->work.truth = mmap(NULL, sizeof *run->work.truth, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->work.truth == MAP_FAILED)
		broken("mmap");
	product_cases(); /* before the fork: the runner is to know them too */
	runner_start(&run->runner, &run->work);
	if (!observer_start(&run->observer, run->work.hitratio, run->work.tier, run->runner.pid)) {
		fprintf(stderr, "truth: %s\n",
		    run->observer.complaint[0] ? run->observer.complaint
					       : "hitratio did not start");
		return 3;
	}
	for_each(run, run_case);
	if (run->number == 0) {
		fprintf(stderr, "truth: no such case\n");
		return 3;
	}
	judge_account(run);
	runner_end(&run->runner);
	printf("1..%u\n", run->number);
	return run->wrong != 0;
}

static int
usage(void)
{
	fprintf(stderr,
	    "usage: truth [-t TIER] [-n PAGES] HITRATIO FOLDER [CASE...]\n"
	    "       truth -l [CASE...]\n"
	    "       truth -r FILE\n");
	return 3;
}

static int
read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		broken(path);
	while ((length = read(fd, buffer, PAGE)) > 0)
		;
	return length < 0;
}

int
main(int argc, char **argv)
{
	struct run run = { .work.pages = 4096 };
	bool list = false;
	int option;

	while ((option = getopt(argc, argv, "+lr:t:n:")) != -1) {
		if (option == 'l')
			list = true;
		else if (option == 'r')
			return read_file(optarg);
		else if (option == 't')
			run.work.tier = optarg;
		else if (option == 'n')
			run.work.pages = strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	argv += optind;
	run.names = list ? argv : argv + 2;
	if (list) {
		for_each(&run, list_case);
		return run.number == 0;
	}
	if (argc - optind < 2 || run.work.pages == 0)
		return usage();
	signal(SIGPIPE, SIG_IGN);
	run.work.hitratio = argv[0];
	run.work.folder = argv[1];
	return run_all(&run);
}
