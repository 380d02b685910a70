/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "estimate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define KNOWN(figure) (!(sums.unknown & 1U << (figure)))

/* A /proc of our own making. */
static char root[] = "/tmp/hotset-estimate.XXXXXX";

static struct estimate_sums sums;

__attribute__((format(printf, 2, 3))) static void
put(const char *name, const char *format, ...)
{
	va_list arguments;
	char path[200];
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", root, name);
	stream = fopen(path, "w");
	if (!stream)
		exit(1);
	va_start(arguments, format);
	vfprintf(stream, format, arguments);
	va_end(arguments);
	fclose(stream);
}

static void
put_vmstat(unsigned pgpgin, unsigned pswpin, unsigned faults, unsigned dirtied)
{
	put("proc/vmstat",
	    "nr_free_pages 5\nnr_dirtied %u\npgpgin %u\npgpgout 7\npswpin %u\npgmajfault %u\n",
	    dirtied, pgpgin, pswpin, faults);
}

/* Process PID, with a name that tries to be more than one. */
static void
put_process(int pid, int parent, unsigned read, unsigned fetched)
{
	char name[64];

	snprintf(name, sizeof name, "%s/proc/%d", root, pid);
	mkdir(name, 0755);
	snprintf(name, sizeof name, "proc/%d/stat", pid);
	put(name, "%d (a) S 1 (b) S %d 1 1 0 -1 4194560 3 4 %u %u 0 0 0 0 20 0 1 0 %d 9 9\n", pid,
	    parent, fetched / 100, fetched / 100, 1000 + pid);
	snprintf(name, sizeof name, "proc/%d/io", pid);
	put(name,
	    "rchar: %u\nwchar: 1\nsyscr: 2\nsyscw: 3\nread_bytes: %u\nwrite_bytes: %u\n"
	    "cancelled_write_bytes: 0\n",
	    read, fetched, fetched / 10);
}

static void
end_process(int pid)
{
	char path[200];

	snprintf(path, sizeof path, "%s/proc/%d/stat", root, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/proc/%d/io", root, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/proc/%d", root, pid);
	rmdir(path);
}

static void
look(struct estimate *estimate)
{
	ok(estimate_look(estimate, &sums) == 0, "it can be looked at");
}

static void
machine(void)
{
	char reason[200] = "", text[200];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct estimate *estimate;

	put_vmstat(100, 0, 5, 50);
	put_process(1, 0, 1000, 100);
	put_process(10, 1, 5000, 500);
	estimate = estimate_open(root, false, reason, sizeof reason);
	is(reason, "", "the machine can be estimated");
	if (!estimate)
		return;
	estimate_describe(estimate, text, sizeof text);
	is(text, "estimate: from /proc/vmstat, and /proc/PID/io of all processes", "as such");
	look(estimate);
	ok(sums.unknown == 15, "nothing is known at the first look");
	put_process(10, 1, 7000, 600);
	put_vmstat(140, 0, 8, 53);
	look(estimate);
	ok(sums.unknown == 0, "all is known at the second");
	ok(sums.of[ESTIMATE_READ] == 2000, "what the processes were given");
	ok(sums.of[ESTIMATE_FETCHED] == 40 * 1024, "what storage read");
	ok(sums.of[ESTIMATE_DIRTIED] == 3 * page, "what was made dirty");
	ok(sums.of[ESTIMATE_FAULTS] == 3, "what waited");

	/* it did more before it ended: its parent knows */
	end_process(10);
	put_process(1, 0, 1000 + 9000, 100 + 700);
	put_vmstat(160, 1, 9, 53);
	look(estimate);
	ok(sums.of[ESTIMATE_READ] == 4000, "who has been waited for is not lost");
	ok(sums.of[ESTIMATE_FETCHED] == 60 * 1024 - page, "swap is not counted");
	ok(sums.unknown == 1U << ESTIMATE_FAULTS, "faults are unknown beside swap");

	put_vmstat(161, 2, 9, 53);
	look(estimate);
	ok(!KNOWN(ESTIMATE_FETCHED) && !KNOWN(ESTIMATE_READ), "more swap than all: unknown");
	ok(KNOWN(ESTIMATE_DIRTIED), "but not what does not depend on it");
	ok(sums.of[ESTIMATE_FETCHED] == 60 * 1024 - page, "and not in the sum");

	put_process(1, 0, 9000, 700);
	put_vmstat(161, 2, 9, 53);
	look(estimate);
	ok(!KNOWN(ESTIMATE_READ) && !KNOWN(ESTIMATE_FETCHED) && KNOWN(ESTIMATE_DIRTIED),
	    "a sum that shrinks: unknown");
	put_process(1, 0, 9300, 700);
	look(estimate);
	ok(sums.unknown == 0 && sums.of[ESTIMATE_READ] == 4300, "known again from there");
	put("proc/vmstat", "nr_free_pages 5\n");
	look(estimate);
	ok(sums.unknown == 15, "what the kernel does not tell is unknown");
	estimate_close(estimate);
	end_process(1);
}

static void
one_process(void)
{
	char reason[200] = "";
	struct estimate *estimate = estimate_open(root, true, reason, sizeof reason);

	is(reason, "", "a process can be estimated");
	if (!estimate)
		return;
	put_vmstat(0, 0, 0, 0);
	put_process(1, 0, 1000, 100);
	put_process(10, 1, 5000, 500);
	put_process(11, 10, 100, 100);
	put_process(9, 11, 10, 10); /* numbers start again */
	put_process(12, 1, 1, 1);
	ok(estimate_target(estimate, 99) < 0 && errno == ESRCH, "no such process");
	ok(estimate_target(estimate, 10) == 0, "this one");
	look(estimate);
	put_process(12, 1, 9999, 9999);
	put_process(9, 11, 210, 1010);
	put_vmstat(9, 0, 9, 9);
	look(estimate);
	ok(sums.unknown == 0 && sums.of[ESTIMATE_READ] == 200 &&
		sums.of[ESTIMATE_FETCHED] == 1000 && sums.of[ESTIMATE_DIRTIED] == 100 &&
		sums.of[ESTIMATE_FAULTS] == 20,
	    "with its children, and nobody else");

	/* its parent has ended, and left it to init */
	end_process(11);
	put_process(9, 1, 310, 1010);
	put_process(10, 1, 5000 + 100, 600);
	look(estimate);
	ok(sums.unknown == 0 && sums.of[ESTIMATE_READ] == 300, "an orphan still is of the family");

	/* and so has all that it did */
	end_process(9);
	put_process(1, 0, 999999, 999999);
	put_process(10, 1, 5000 + 100 + 5000, 600);
	look(estimate);
	ok(sums.unknown == 15, "what an orphan that ended did is unknown");
	put_process(10, 1, 5000 + 100 + 5000 + 4, 600);
	look(estimate);
	ok(sums.unknown == 0 && sums.of[ESTIMATE_READ] == 304, "known again from there");

	/* the same number, another process */
	put("proc/10/stat", "10 (x) S 1 1 1 0 -1 0 3 4 1 2 0 0 0 0 20 0 1 0 77 9 9\n");
	look(estimate);
	ok(sums.unknown == 15, "another process of that number is none of it");
	estimate_close(estimate);
}

int
main(void)
{
	char path[200];

	if (!mkdtemp(root))
		return 1;
	snprintf(path, sizeof path, "%s/proc", root);
	mkdir(path, 0755);
	machine();
	one_process();
	for (int pid = 1; pid < 20; pid++)
		end_process(pid);
	snprintf(path, sizeof path, "%s/proc/vmstat", root);
	unlink(path);
	snprintf(path, sizeof path, "%s/proc", root);
	rmdir(path);
	rmdir(root);
	return tap_done();
}
