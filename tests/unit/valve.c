/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "valve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tap.h"

#define MIB    (1ULL << 20)
#define SECOND 1000000000ULL

static char root[] = "/tmp/hotset-valve.XXXXXX";

static void
put(const char *name, const char *text)
{
	char path[64];
	FILE *stream;

	snprintf(path, sizeof path, "%s/proc/%s", root, name);
	stream = fopen(path, "w");
	if (!stream || fputs(text, stream) < 0 || fclose(stream) < 0)
		exit(1);
}

/* A machine of 1 GiB, which is to have 64 MiB. LOCKED below 0: it does not tell. */
static void
machine(int available, int locked)
{
	char text[256];
	int n = snprintf(text, sizeof text,
	    "MemTotal: 1048576 kB\nMemFree: %d kB\nMemAvailable: %d kB\n", available * 1024,
	    available * 1024);

	if (locked >= 0)
		snprintf(text + n, sizeof text - (size_t)n, "Mlocked: %d kB\n", locked * 1024);
	put("meminfo", text);
}

int
main(void)
{
	char path[64];
	struct valve valve;
	uint64_t now = 100 * SECOND;

	if (!mkdtemp(root))
		return 1;
	snprintf(path, sizeof path, "%s/proc", root);
	if (mkdir(path, 0700) < 0)
		return 1;
	put("vmstat", "oom_kill 5\n");
	machine(300, 280);
	if (valve_begin(&valve, root, 10 * SECOND, now) < 0)
		return 1;
	ok(valve_release(&valve, now, 280 * MIB) == 0 && !valve.tight, "there is enough");
	machine(300, 0);
	now += SECOND;
	ok(valve_release(&valve, now, 280 * MIB) == 2 * 44 * MIB && valve.tight,
	    "not if what is pinned counts as if it could go");
	machine(300, -1);
	now += SECOND;
	ok(valve_release(&valve, now, 280 * MIB) == 0, "where that is not told, it is not guessed");
	machine(300, 0);
	now += SECOND;
	ok(valve_release(&valve, now, 0) == 0, "nor where it is not known what is pinned");
	now += 20 * SECOND;
	ok(valve_repin(&valve, now) > 0, "it is long since it was tight");
	ok(!valve_killed(&valve, now), "a process that was killed by a person");
	put("vmstat", "oom_kill 6\n");
	ok(valve_killed(&valve, now) && valve.tight, "and one by the kernel: then it is tight");
	ok(valve_repin(&valve, now + SECOND) == 0, "which takes a while");
	valve_free(&valve);

	/* a quiet time that is longer than any that is waited for after a mistake */
	if (valve_begin(&valve, root, 7200 * SECOND, now) < 0)
		return 1;
	machine(10, 0);
	now += SECOND;
	ok(valve_release(&valve, now, 280 * MIB) > 0, "too little");
	machine(300, 280);
	now += 7300 * SECOND;
	valve_release(&valve, now, 280 * MIB);
	ok(valve_repin(&valve, now) > 0, "and enough for the quiet time");
	machine(10, 0);
	now += SECOND;
	ok(valve_release(&valve, now, 280 * MIB) > 0, "that was too early");
	machine(300, 280);
	now += 5400 * SECOND;
	valve_release(&valve, now, 280 * MIB);
	ok(valve_repin(&valve, now) == 0, "and is no reason to wait for less than it");
	valve_free(&valve);
	snprintf(path, sizeof path, "rm -r %s", root);
	return system(path) == 0 ? tap_done() : 1;
}
