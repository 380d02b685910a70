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

static void
count(void *calls)
{
	++*(int *)calls;
}

/* What waits for ever, until we are to stop. */
static void
test_stop(void)
{
	int ends[2], calls = 0, result, error;
	uint64_t start;
	FILE *stream;

	if (pipe(ends) < 0)
		return;
	patient_write(ends[1], bytes, sizeof bytes, 0, NULL);
	stream = patient_stream(ends[1], true);
	patient_meanwhile(count, &calls);
	stop_catch(500 * MSEC);
	start = stop_now();
	fputs("text", stream);
	result = fflush(stream);
	error = errno;
	ok(result != 0 && error == ETIMEDOUT, "a stop ends the wait");
	ok(stop_now() - start >= 1500 * MSEC && stop_now() - start < 5000 * MSEC, "a moment later");
	ok(calls >= 5, "meanwhile, something else is done");
	patient_meanwhile(NULL, NULL);
	start = stop_now();
	fputs("more", stream);
	ok(fflush(stream) != 0 && errno == ETIMEDOUT, "the stream stays as it is");
	ok(patient_write(ends[1], "text", 4, PATIENT_FOREVER, NULL) < 0 && errno == EAGAIN,
	    "nobody waits again");
	ok(stop_now() - start < 500 * MSEC, "so the end is quick");
	drain(ends[0]);
	ok(patient_write(ends[1], "text", 4, PATIENT_FOREVER, NULL) == 0,
	    "who reads gets it, though");
	fclose(stream);
	errno = 0;
	ok(write(ends[1], "", 1) < 0 && errno == EBADF, "closed with the stream");
	close(ends[0]);
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
	test_stop();
	return tap_done();
}
