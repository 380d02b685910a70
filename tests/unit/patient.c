/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patient.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "stop.h"
#include "tap.h"

#define MSEC 1000000ULL
#define MUCH (1 << 20) /* more than a pipe takes */

static char bytes[MUCH];

/* What is in a pipe, which is empty then. */
static size_t
drain(int fd)
{
	size_t sum = 0;
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		sum += (size_t)n;
	return sum;
}

static void
test_pipe(void)
{
	uint64_t start = stop_now();
	size_t written;
	int ends[2];

	if (pipe(ends) < 0)
		return;
	ok(patient_write(ends[1], "text", 4, 0, &written) == 0 && written == 4, "what fits");
	errno = 0;
	ok(patient_write(ends[1], bytes, sizeof bytes, 0, &written) == -1 && errno == EAGAIN,
	    "what does not fit does not wait");
	ok(written > 0 && drain(ends[0]) == written + 4, "and what was written is known");
	patient_write(ends[1], bytes, sizeof bytes, 0, NULL);
	start = stop_now();
	ok(patient_write(ends[1], bytes, 1, 50 * MSEC, &written) == -1 && written == 0 &&
		stop_now() - start >= 50 * MSEC,
	    "or waits as long as it may");
	drain(ends[0]);
	close(ends[0]);
	stop_catch(0);
	stop_ignore_pipe();
	errno = 0;
	ok(patient_write(ends[1], "text", 4, PATIENT_FOREVER, NULL) == -1 && errno == EPIPE,
	    "a reader who has gone is an error");
	close(ends[1]);
}

/* Messages that nobody reads. */
static void
test_diag(void)
{
	int ends[2], old = dup(STDERR_FILENO);
	char text[256] = "";

	if (pipe(ends) < 0 || old < 0)
		return;
	dup2(ends[1], STDERR_FILENO);
	diag_init("tool");
	diag_hurry();
	patient_write(ends[1], bytes, sizeof bytes, 0, NULL);
	diag_error("one");
	diag_error("two");
	drain(ends[0]);
	diag_error("three");
	if (read(ends[0], text, sizeof text - 1) < 0)
		*text = '\0';
	dup2(old, STDERR_FILENO);
	is(text, "tool: 2 messages were left out\ntool: three\n",
	    "messages are left out, and counted");
	close(ends[0]);
	close(ends[1]);
	close(old);
}

int
main(void)
{
	test_pipe();
	test_diag();
	return tap_done();
}
