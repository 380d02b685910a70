/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "subject.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 200 /* times 10 ms, for readahead that goes on */

/* Messages of a subject, and of the runner: how it ended, from ENDED on. */
enum { READY = 1, DONE = 2, ENDED = 1000 };

static void
tell(int fd, int message)
{
	if (write(fd, &message, sizeof message) != sizeof message)
		_exit(1);
}

static int
hear(int fd)
{
	int message;

	return read(fd, &message, sizeof message) == sizeof message ? message : ENDED + 128;
}

static struct file *
next_file(struct work *work, size_t i)
{
	return i == work->other_count ? &work->file : &work->others[i];
}

static bool
all_hold(struct work *work)
{
	bool hold = true;

	for (size_t i = 0; i <= work->other_count; i++)
		hold = file_holds(next_file(work, i)) && hold;
	return hold;
}

static bool
all_kept(struct work *work)
{
	for (size_t i = 0; i <= work->other_count; i++)
		if (!file_kept(next_file(work, i)))
			return false;
	return true;
}

static size_t
all_filled(struct work *work)
{
	size_t filled = 0;

	for (size_t i = 0; i <= work->other_count; i++)
		filled += file_filled(next_file(work, i));
	return filled;
}

void
subject_remove_files(struct work *work)
{
	for (size_t i = 0; i <= work->other_count; i++)
		file_remove(next_file(work, i));
}

/*
 * What the kernel has done to page caches of itself since boot: pages that it has reclaimed, those
 * that came back after that (which tells of ways to reclaim that are not counted, as DAMON's),
 * how often caches were dropped, and how often khugepaged has set out to make one huge page of
 * many, for which it brings in those that are missing (of any mapped file: 7.2).
 */
static unsigned long long
meddled(void)
{
	static const char *const names[] = { "workingset_refault_file", "drop_pagecache",
		"thp_collapse_alloc" };
	unsigned long long sum = 0, value;
	char name[64];
	FILE *stream;

	/* each processor keeps some of the first to itself until then (4.7) */
	put_text("/proc/sys/vm/stat_refresh", "1");
	stream = fopen("/proc/vmstat", "r");
	if (!stream)
		broken("/proc/vmstat");
	while (fscanf(stream, "%63s %llu", name, &value) == 2) {
		bool wanted = strncmp(name, "pgsteal_", 8) == 0;

		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			wanted = wanted || strcmp(name, names[i]) == 0;
		sum += wanted ? value : 0;
	}
	fclose(stream);
	return sum;
}

/* What readahead still brings in is in memory when it has come, and mincore shows no page
 * before: the count is right where it is what comes to be, and stays. */
static void
count_filled(struct work *work)
{
	struct truth *truth = work->truth;
	bool same = false;

	for (int i = 0; i < PATIENCE; i++) {
		bool again = same;

		truth->filled = all_filled(work);
		same = truth->filled == truth->fills;
		if (same && (again || truth->filled == truth->misses))
			return;
		usleep(10000);
	}
}

static int
decayed(struct work *work, const char *reason)
{
	explain(work, reason);
	return SUBJECT_DECAYED;
}

static int
result(struct work *work, unsigned long long before)
{
	unsigned long long pages = meddled() - before;
	char reason[100];

	if (work->load->checks & FILLS)
		count_filled(work);
	if (work->load->flags & RECLAIM)
		return SUBJECT_DONE;
	snprintf(reason, sizeof reason, "the kernel reclaimed meanwhile (%llu by its counters)",
	    pages);
	if (pages)
		return decayed(work, reason);
	if (!all_kept(work))
		return decayed(work, "pages that were accessed have left memory");
	return SUBJECT_DONE;
}

static _Noreturn void
be_subject(struct work *work, int in, int out)
{
	const struct workload *load = work->load;
	char path[4096 + 32];
	unsigned long long before;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof path, "%s/truth.%d", work->folder, (int)getpid());
	file_make(&work->file, path, (off_t)(work->pages * PAGE));
	file_set(&work->file, load->state);
	if (load->prepare)
		load->prepare(work);
	/* our own text, data and stack: no faults but the workload's */
	if (mlockall(MCL_CURRENT) < 0)
		broken("mlockall");
	tell(out, READY);
	hear(in);
	before = meddled();
	if (!all_hold(work)) {
		subject_remove_files(work);
		_exit(decayed(work, "it was gone before the workload began"));
	}
	load->run(work);
	tell(out, DONE);
	hear(in);
	status = result(work, before);
	subject_remove_files(work);
	_exit(status);
}

/* Runs the workload at the address that comes, again and again. */
static _Noreturn void
be_runner(struct work *work, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(in, &work->load, sizeof work->load) == sizeof work->load) {
		pid_t subject = fork();
		int status;

		if (subject < 0)
			broken("fork");
		if (subject == 0)
			be_subject(work, in, out);
		waitpid(subject, &status, 0);
		tell(out,
		    ENDED + (WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
	}
	_exit(0);
}

void
runner_start(struct runner *runner, struct work *work)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		broken("pipe");
	runner->pid = fork();
	if (runner->pid < 0)
		broken("fork");
	if (runner->pid == 0) {
		close(in[1]);
		close(out[0]);
		be_runner(work, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	runner->to = in[1];
	runner->from = out[0];
}

/* Whether the subject says MESSAGE next, rather than that it has ended. */
static bool
says(struct runner *runner, int message)
{
	runner->said = hear(runner->from);
	return runner->said == message;
}

bool
runner_prepare(struct runner *runner, const struct workload *load)
{
	if (write(runner->to, &load, sizeof load) != sizeof load)
		broken("runner");
	return says(runner, READY);
}

bool
runner_run(struct runner *runner)
{
	tell(runner->to, 0);
	return says(runner, DONE);
}

int
runner_finish(struct runner *runner)
{
	if (runner->said < ENDED) {
		tell(runner->to, 0);
		runner->said = hear(runner->from);
	}
	return runner->said - ENDED;
}

void
runner_end(struct runner *runner)
{
	close(runner->to);
	waitpid(runner->pid, NULL, 0);
}
