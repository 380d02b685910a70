/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pressure.h"

#include <errno.h>

#include "tap.h"
#include "tree.h"

#define SECOND 1000000000ULL

/* Stalls of so many ms each so far. */
static void
put_stalls(const char *path, unsigned some, unsigned full)
{
	char text[256];

	snprintf(text, sizeof text,
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=%u000\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=%u000\n",
	    some, full);
	put(path, text);
}

static void
put_meminfo(unsigned long free, unsigned long available)
{
	char text[256];

	snprintf(text, sizeof text, "MemTotal: 1048576 kB\nMemFree: %lu kB\nMemAvailable: %lu kB\n",
	    free, available);
	put("/proc/meminfo", text);
}

/* Reads TEXT as if it were of the kernel. */
static int
read_text(const char *text, struct psi *psi)
{
	char path[128];

	begin_tree("text");
	put("/file", text);
	snprintf(path, sizeof path, "%s/file", tree);
	errno = 0;
	return psi_read(path, psi);
}

static void
test_psi(void)
{
	struct psi psi;

	ok(read_text("some avg10=0.00 avg60=1.25 avg300=0.03 total=28366508\n"
		     "full avg10=0.00 avg60=0.00 avg300=0.00 total=19105354\n",
	       &psi) == 0,
	    "stalls, Linux 6.18");
	ok(psi.some == 28366508 && psi.full == 19105354, "their totals");
	ok(read_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", &psi) == 0 &&
		psi.some == 7 && psi.full == PSI_UNKNOWN,
	    "without full, that is unknown, not 0");
	ok(read_text("some total=0\nfull total=0\n", &psi) == 0 && psi.some == 0 && psi.full == 0,
	    "0 is known");
	ok(read_text("", &psi) == -1 && errno == EINVAL, "an empty file");
	ok(psi.some == PSI_UNKNOWN && psi.full == PSI_UNKNOWN, "then both are unknown");
	ok(read_text("some avg10=1.0 total=-1\n", &psi) == -1 && errno == EINVAL, "a sign");
	ok(read_text("some avg10=1.0 total=\n", &psi) == -1 && errno == EINVAL, "no number");
	ok(read_text("some total=18446744073709551616\n", &psi) == -1 && errno == EINVAL,
	    "more than 64 bits");
	ok(read_text("some avg10=1.0\nfull total=5\n", &psi) == -1 && errno == EINVAL,
	    "no total of some");
	ok(read_text("something total=5\n", &psi) == -1 && errno == EINVAL, "other words");
	ok(read_text("some mytotal=5\n", &psi) == -1 && errno == EINVAL, "another total");
	ok(psi_read("/nonexistent", &psi) == -1 && errno == ENOENT && psi.some == PSI_UNKNOWN,
	    "no file");
}

static void
test_machine(void)
{
	struct pressure pressure;
	char words[PRESSURE_WORDS];

	begin_tree("machine");
	put_stalls("/proc/pressure/memory", 5000, 1000);
	put_meminfo(10000, 900000);
	ok(pressure_begin(&pressure, tree, SECOND) == 0 && pressure_known(&pressure) &&
		!pressure.group,
	    "a machine that tells stalls");
	put_stalls("/proc/pressure/memory", 6000, 2000);
	ok(!pressure_tight(&pressure, SECOND + PRESSURE_WINDOW - 1), "no look before the window");
	ok(pressure_tight(&pressure, 2 * SECOND) && pressure.why == PRESSURE_MACHINE,
	    "tasks waited all the time");
	is(pressure_words(&pressure, words), "tasks waited for it 100% of the time", "in words");
	ok(pressure_tight(&pressure, 2 * SECOND + 1), "which holds until the next look");
	ok(!pressure_tight(&pressure, 3 * SECOND), "then there is no stall any more");
	put_stalls("/proc/pressure/memory", 6199, 2000);
	ok(!pressure_tight(&pressure, 4 * SECOND), "less than a fifth of the time");
	put_stalls("/proc/pressure/memory", 6399, 2000);
	ok(pressure_tight(&pressure, 4 * SECOND + PRESSURE_WINDOW),
	    "a fifth of the time since the look, not since the start");
	put_stalls("/proc/pressure/memory", 6400, 2099);
	ok(!pressure_tight(&pressure, 6 * SECOND), "all tasks: less than a tenth");
	put_stalls("/proc/pressure/memory", 6550, 2200);
	ok(pressure_tight(&pressure, 7 * SECOND), "a tenth");
	put_stalls("/proc/pressure/memory", 9000, 4000);
	put_meminfo(65536, 900000);
	ok(!pressure_tight(&pressure, 8 * SECOND),
	    "where a sixteenth is free, it is not the machine's memory they wait for");
	put_stalls("/proc/pressure/memory", 9900, 4000);
	put_meminfo(65535, 900000);
	ok(pressure_tight(&pressure, 9 * SECOND), "where less is free, it is");
	put_stalls("/proc/pressure/memory", 5, 5);
	ok(!pressure_tight(&pressure, 10 * SECOND), "totals that fall tell nothing");
	put("/proc/pressure/memory", "rubbish\n");
	ok(!pressure_tight(&pressure, 11 * SECOND), "nor does rubbish");
	pressure_free(&pressure);
}

static void
test_group(void)
{
	static const char file[] = "/sys/fs/cgroup/a/memory.pressure";
	struct pressure pressure;
	char words[PRESSURE_WORDS];

	begin_tree("group");
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put_stalls("/proc/pressure/memory", 0, 0);
	put_meminfo(1000000, 1000000);
	put_stalls(file, 0, 0);
	ok(pressure_begin(&pressure, tree, SECOND) == 0 && !pressure.group,
	    "the root of cgroups is the machine");
	pressure_free(&pressure);
	put("/sys/fs/cgroup/a/memory.current", "4096\n");
	ok(pressure_begin(&pressure, tree, SECOND) == 0, "a cgroup that tells stalls");
	is(pressure.group ? pressure.group : "", "/sys/fs/cgroup/a", "its folder");
	put_stalls(file, 300, 0);
	ok(pressure_tight(&pressure, 2 * SECOND) && pressure.why == PRESSURE_GROUP,
	    "its tasks wait, though much of the machine is free");
	is(pressure_words(&pressure, words),
	    "tasks in memory cgroup /sys/fs/cgroup/a waited for it 30% of the time", "in words");
	put_stalls("/proc/pressure/memory", 900, 0);
	ok(!pressure_tight(&pressure, 3 * SECOND), "others wait for room of their own");
	pressure_free(&pressure);

	put("/proc/self/cgroup", "4:memory:/a\n");
	put("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n");
	ok(pressure_begin(&pressure, tree, SECOND) == 0 && !pressure.group,
	    "version 1 does not tell");
	pressure_free(&pressure);
}

static void
test_available(void)
{
	struct pressure pressure;
	char words[PRESSURE_WORDS];

	begin_tree("available");
	put_meminfo(0, 16384);
	ok(pressure_begin(&pressure, tree, SECOND) == 0 && pressure_known(&pressure),
	    "a machine without stalls");
	ok(!pressure_tight(&pressure, 2 * SECOND), "a sixty-fourth is available");
	put_meminfo(0, 16383);
	ok(!pressure_tight(&pressure, 2 * SECOND + 1), "no look so soon");
	ok(pressure_tight(&pressure, 3 * SECOND) && pressure.why == PRESSURE_AVAILABLE,
	    "less is available");
	is(pressure_words(&pressure, words), "16M is available", "in words");
	put("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 0 kB\n");
	ok(!pressure_tight(&pressure, 4 * SECOND), "what is not told is not thought");
	pressure_free(&pressure);

	begin_tree("nothing");
	ok(pressure_begin(&pressure, tree, SECOND) == 0 && !pressure_known(&pressure),
	    "a machine that tells nothing");
	ok(!pressure_tight(&pressure, 2 * SECOND), "is never tight");
	pressure_free(&pressure);
}

int
main(void)
{
	begin_trees();
	test_psi();
	test_machine();
	test_group();
	test_available();
	remove_trees();
	return tap_done();
}
