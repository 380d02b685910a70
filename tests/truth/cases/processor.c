/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor that comes and goes while hitratio counts. */
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

/* A processor goes and comes while a child reads, on it first. */
static void
processor_off(struct work *work)
{
	const char *online = "/sys/devices/system/cpu/cpu1/online";
	pid_t child;
	int status;

	if (!put_text(online, "0"))
		skip(work, "no processor that can be taken off line");
	put_text(online, "1");
	child = fork();
	if (child == 0) {
		for (int pass = 0; pass < 20; pass++)
			read_sequential(work, 16 * PAGE);
		_exit(0);
	}
	for (int i = 0; i < 5; i++) {
		if (!put_text(online, "0"))
			broken("processor");
		usleep(20000);
		if (!put_text(online, "1"))
			broken("processor");
		usleep(20000);
	}
	waitpid(child, &status, 0);
	if (status != 0)
		broken("the reader has failed");
}

const struct workload processor_cases[] = {
	/* it disturbs everybody on the machine */
	CASE_WITH(NAMED_ONLY, "a processor that goes off line", EXACT | FILLS, COLD, NULL,
	    processor_off),
	{ 0 },
};
