/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read while another hitratio attaches itself. The one that counts all cases has attached
 * long before any of them reads, so each of these starts its own, and asks that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "observer.h"

#define ROUNDS 4 /* of commands: whether one fails depends on the moment */

/* What the reader is to do, and what it is at. */
enum step { AT_ONCE, REST, COUNTED, DONE };

struct steps {
	atomic_int asked, reached;
};

static void
await(atomic_int *step, enum step wanted)
{
	while (*step != (int)wanted)
		usleep(1000);
}

static void
read_pages(const struct work *work)
{
	for (size_t page = 0; page < work->pages; page++)
		if (pread(work->file.fd, buffer, PAGE, (off_t)(page * PAGE)) < 0)
			broken("read");
}

/* Reads all the time, then rests, and then reads each page once. */
static _Noreturn void
be_reader(struct work *work, struct steps *steps)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (steps->asked == AT_ONCE)
		read_pages(work);
	steps->reached = REST;
	await(&steps->asked, COUNTED);
	read_pages(work);
	steps->reached = COUNTED;
	await(&steps->asked, DONE);
	_exit(0);
}

static void
ask(struct steps *steps, enum step step)
{
	steps->asked = step;
	await(&steps->reached, step);
}

/* Ends the case if so many accesses are wrong: each page once, and so MANY more at most. Whether
 * they are hits is not asked: the kernel may reclaim pages meanwhile. */
static void
expect(const struct work *work, unsigned long long accesses, unsigned many)
{
	if (accesses >= work->pages && accesses <= work->pages + many)
		return;
	fprintf(stderr, "truth: %llu accesses counted of %zu\n", accesses, work->pages);
	exit(3);
}

/* A process that reads, and has read, as hitratio attaches itself. */
static void
attach_to_reader(struct work *work)
{
	struct steps *steps = mmap(NULL, sizeof *steps, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct observer observer;
	pid_t reader;

	if (steps == MAP_FAILED)
		broken("mmap");
	reader = fork();
	if (reader == 0)
		be_reader(work, steps);
	if (!observer_start(&observer, work->hitratio, work->tier, reader))
		broken("hitratio has not begun");
	ask(steps, REST);
	if (!observer_take(&observer, false))
		broken("hitratio has ended");
	memset(&observer.figures, 0, sizeof observer.figures);
	ask(steps, COUNTED);
	if (!observer_take(&observer, false))
		broken("hitratio has ended");
	observer_end(&observer);
	steps->asked = DONE;
	waitpid(reader, NULL, 0);
	expect(work, observer.figures.hits + observer.figures.misses, 0);
}

static _Noreturn void
be_command(const struct work *work, const char *report)
{
	char self[4096], option[64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length < 0)
		broken("/proc/self/exe");
	self[length] = '\0';
	snprintf(option, sizeof option, "--tier=%s", work->tier ? work->tier : "");
	execl(work->hitratio, "hitratio", "-f", "kv", "-o", report, work->tier ? option : "-q",
	    "--", self, "-r", work->file.path, (char *)NULL);
	broken(work->hitratio);
}

static unsigned long long
accesses_of(const char *report)
{
	unsigned long long accesses = 0;
	char line[256];
	FILE *stream = fopen(report, "r");

	if (!stream)
		broken(report);
	while (fgets(line, sizeof line, stream))
		sscanf(line, "accesses=%llu", &accesses);
	fclose(stream);
	return accesses;
}

/* A command that reads at once. The kernel looks at the head of its program once or twice. */
static void
attach_to_command(struct work *work)
{
	char report[sizeof work->file.path + 8];

	snprintf(report, sizeof report, "%s.report", work->file.path);
	for (int round = 0; round < ROUNDS; round++) {
		pid_t child = fork();

		if (child == 0)
			be_command(work, report);
		if (waitpid(child, NULL, 0) < 0)
			broken("hitratio, of a command");
		expect(work, accesses_of(report), 2);
		unlink(report);
	}
}

const struct workload attached_cases[] = {
	CASE("a process that reads while hitratio attaches", 0, WARM, NULL, attach_to_reader),
	CASE("a command that reads at once", 0, WARM, NULL, attach_to_command),
	{ 0 },
};
