/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth HITRATIO FOLDER [PAGES [CASE...]]: runs each workload under "hitratio -p" and
 * compares what it counted with what happened, page by page. Prints TAP.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES   20
#define DECAYED 9 /* a subject's exit: the starting state did not last */
#define SKIPPED 8

struct subject {
	pid_t pid;
	FILE *from; /* a line when it is ready, one when it has run */
	int to;     /* a byte: go, another: end */
};

struct figures {
	unsigned long long hits, misses, fault_misses, lost;
};

static void
await(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

static bool
all_hold(struct work *work)
{
	for (size_t i = 0; i < work->other_count; i++)
		if (!file_holds(&work->others[i]))
			return false;
	return file_holds(&work->file);
}

static bool
all_kept(struct work *work)
{
	for (size_t i = 0; i < work->other_count; i++)
		if (!file_kept(&work->others[i]))
			return false;
	return file_kept(&work->file);
}

/* Pages that the kernel has reclaimed since boot, and how often caches were dropped. */
static unsigned long long
reclaimed(void)
{
	unsigned long long sum = 0, value;
	char name[64];
	FILE *stream = fopen("/proc/vmstat", "r");

	if (!stream)
		broken("/proc/vmstat");
	while (fscanf(stream, "%63s %llu", name, &value) == 2)
		if (strncmp(name, "pgsteal_", 8) == 0 || strcmp(name, "drop_pagecache") == 0)
			sum += value;
	fclose(stream);
	return sum;
}

static void
remove_all(struct work *work)
{
	for (size_t i = 0; i < work->other_count; i++)
		file_remove(&work->others[i]);
	file_remove(&work->file);
}

/* The process whose reads are counted: it has prepared its state before anybody
 * looks, and waits before and after, so that neither start nor end disturb. */
static _Noreturn void
be_subject(const struct workload *load, struct work *work, int in, int out)
{
	char path[4096 + 32];
	unsigned long long before;
	int status;

	snprintf(path, sizeof path, "%s/truth.%d", work->folder, (int)getpid());
	file_make(&work->file, path, (off_t)(work->pages * PAGE));
	file_set(&work->file, load->state);
	if (load->prepare)
		load->prepare(work);
	dprintf(out, "ready\n");
	await(in);
	before = reclaimed();
	if (!all_hold(work)) {
		remove_all(work);
		_exit(DECAYED);
	}
	load->run(work);
	dprintf(out, "done\n");
	await(in);
	status = reclaimed() == before && all_kept(work) ? 0 : DECAYED;
	remove_all(work);
	_exit(status);
}

static void
start_subject(struct subject *subject, const struct workload *load, struct work *work)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		broken("pipe");
	subject->pid = fork();
	if (subject->pid < 0)
		broken("fork");
	if (subject->pid == 0) {
		close(in[1]);
		be_subject(load, work, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	subject->to = in[1];
	subject->from = fdopen(out[0], "r");
}

static bool
say(struct subject *subject)
{
	return write(subject->to, "", 1) == 1;
}

static bool
hear(FILE *stream, const char *word)
{
	char line[512];

	while (fgets(line, sizeof line, stream))
		if (strstr(line, word))
			return true;
	return false;
}

static int
end_subject(struct subject *subject)
{
	int status;

	fclose(subject->from);
	close(subject->to);
	waitpid(subject->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* hitratio -p PID, counting when this returns. */
static pid_t
start_hitratio(const char *hitratio, pid_t subject, FILE **from)
{
	int out[2];
	char number[16];
	pid_t pid;

	snprintf(number, sizeof number, "%d", (int)subject);
	if (pipe2(out, O_CLOEXEC) < 0)
		broken("pipe");
	pid = fork();
	if (pid < 0)
		broken("fork");
	if (pid == 0) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		execl(hitratio, "hitratio", "-v", "-f", "kv", "-p", number, "1h", "1",
		    (char *)NULL);
		broken(hitratio);
	}
	close(out[1]);
	*from = fdopen(out[0], "r");
	if (!hear(*from, "exact:")) {
		errno = EPROTO;
		broken("hitratio did not start");
	}
	return pid;
}

static void
read_figures(FILE *stream, struct figures *figures)
{
	char line[512];

	while (fgets(line, sizeof line, stream)) {
		sscanf(line, "hits=%llu", &figures->hits);
		sscanf(line, "misses=%llu", &figures->misses);
		sscanf(line, "fault_misses=%llu", &figures->fault_misses);
		sscanf(line, "lost=%llu", &figures->lost);
	}
}

static bool
is_right(int checks, int which, unsigned long long counted, unsigned long long truth,
    unsigned long long unsure)
{
	if (checks & which)
		return counted == truth;
	if (checks & WHOLE_CALLS)
		return counted <= truth + unsure && counted + unsure >= truth;
	return !(checks & MOST) || (counted <= truth && counted >= truth - truth / 10);
}

static void
judge(const struct workload *load, const struct truth *truth, const struct figures *figures,
    unsigned number)
{
	unsigned long long misses = truth->misses, hits = 0;
	bool right = figures->lost == 0;

	if (load->checks & (HITS | MOST | WHOLE_CALLS))
		hits = truth->accesses - misses;
	if (load->checks & FAULT_MISSES)
		right = right && figures->fault_misses == misses;
	else
		right = right &&
		    is_right(load->checks, MISSES, figures->misses, misses, truth->unsure) &&
		    is_right(load->checks, HITS, figures->hits, hits, truth->unsure);
	printf("%sok %u - %s: %llu hits, %llu misses", right ? "" : "not ", number, load->name,
	    hits, misses);
	if (!right)
		printf(" but counted %llu hits, %llu misses, %llu fault misses, %llu lost",
		    figures->hits, figures->misses, figures->fault_misses, figures->lost);
	putchar('\n');
}

/* One try; false where the starting state did not last. */
static bool
try_case(const struct workload *load, struct work *work, const char *hitratio, unsigned number)
{
	struct figures figures = { 0 };
	struct subject subject;
	FILE *from;
	pid_t pid;
	int status;

	atomic_store(&work->truth->accesses, 0);
	atomic_store(&work->truth->misses, 0);
	atomic_store(&work->truth->unsure, 0);
	start_subject(&subject, load, work);
	if (!hear(subject.from, "ready"))
		goto ended;
	pid = start_hitratio(hitratio, subject.pid, &from);
	if (say(&subject) && hear(subject.from, "done"))
		kill(pid, SIGINT);
	else
		kill(pid, SIGTERM);
	read_figures(from, &figures);
	fclose(from);
	waitpid(pid, NULL, 0);
	say(&subject);
ended:
	status = end_subject(&subject);
	if (status == DECAYED)
		return false;
	if (status == SKIPPED)
		printf("ok %u - %s # SKIP the kernel or file system does not do this\n", number,
		    load->name);
	else if (status != 0)
		printf("not ok %u - %s: the workload ended with %d\n", number, load->name, status);
	else
		judge(load, work->truth, &figures, number);
	fflush(stdout);
	return true;
}

static bool
is_asked(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

int
main(int argc, char **argv)
{
	struct work work = { .pages = argc > 3 ? strtoul(argv[3], NULL, 10) : 4096 };
	unsigned number = 0;
	char *none = NULL;

	if (argc < 3 || work.pages == 0) {
		fprintf(stderr, "usage: truth HITRATIO FOLDER [PAGES [CASE...]]\n");
		return 3;
	}
	signal(SIGPIPE, SIG_IGN);
	work.folder = argv[2];
	work.truth = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (work.truth == MAP_FAILED)
		broken("mmap");
	for (const struct workload *load = workloads; load->name; load++) {
		int tries = 0;

		if (!is_asked(load->name, argc > 4 ? argv + 4 : &none))
			continue;
		number++;
		while (!try_case(load, &work, argv[1], number) && ++tries < TRIES)
			;
		if (tries == TRIES)
			printf("not ok %u - %s: the starting state never lasted\n", number,
			    load->name);
	}
	printf("1..%u\n", number);
	return 0;
}
