/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num.h"
#include "patient.h"
#include "stop.h"

#define NSEC  1000000000ULL
#define FIRST NSEC /* shorter work needs no line */
#define EVERY (NSEC / 5)

#define WIPE "\r\033[K" /* to the start of the line, and erase it */

void
progress_begin(struct progress *progress, uint64_t total, bool off)
{
	progress->on = !off && isatty(STDERR_FILENO);
	atomic_init(&progress->start, stop_now());
	progress->total = total;
	progress->what = NULL;
	atomic_init(&progress->done, 0);
	atomic_init(&progress->next, atomic_load(&progress->start) + FIRST);
	atomic_init(&progress->shown, false);
	pthread_mutex_init(&progress->lock, NULL);
}

uint64_t
progress_sizes(char *const paths[], size_t count)
{
	struct stat status;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (stat(paths[i], &status) < 0 || !S_ISREG(status.st_mode))
			return 0;
		sum += (uint64_t)status.st_size;
	}
	return sum;
}

static void
put(const char *text)
{
	/* where nobody looks, it is left out */
	patient_write(STDERR_FILENO, text, strlen(text), 0, NULL);
}

/* Of bytes: how many, of how many, how fast, and how long it will take. */
static void
describe_bytes(const struct progress *progress, char *line, size_t size, uint64_t done, double rate)
{
	char sizes[3][NUM_HUMAN];
	uint64_t left;

	num_human(done, sizes[0]);
	num_human((uint64_t)rate, sizes[1]);
	if (progress->total < done || rate < 1) {
		snprintf(line, size, WIPE "%s done, %s/s", sizes[0], sizes[1]);
		return;
	}
	num_human(progress->total, sizes[2]);
	left = (uint64_t)((double)(progress->total - done) / rate + 0.5);
	snprintf(line, size, WIPE "%s of %s done, %s/s, %llu:%02llu left", sizes[0], sizes[2],
	    sizes[1], (unsigned long long)left / 60, (unsigned long long)left % 60);
}

static void
show(struct progress *progress)
{
	uint64_t done = atomic_load(&progress->done), start = atomic_load(&progress->start);
	double rate = (double)done * NSEC / (double)(stop_now() - start);
	char line[128];

	if (progress->what)
		snprintf(line, sizeof line, WIPE "%llu %s, %.0f/s", (unsigned long long)done,
		    progress->what, rate);
	else
		describe_bytes(progress, line, sizeof line, done, rate);
	put(line);
	atomic_store(&progress->shown, true);
}

void
progress_add(struct progress *progress, uint64_t more)
{
	uint64_t now;

	if (!progress->on)
		return;
	atomic_fetch_add(&progress->done, more);
	now = stop_now();
	if (now < atomic_load(&progress->next) || pthread_mutex_trylock(&progress->lock) != 0)
		return;
	if (now >= atomic_load(&progress->next)) {
		atomic_store(&progress->next, now + EVERY);
		show(progress);
	}
	pthread_mutex_unlock(&progress->lock);
}

void
progress_rest(struct progress *progress, uint64_t nanoseconds)
{
	atomic_fetch_add(&progress->start, nanoseconds);
}

void
progress_clear(struct progress *progress)
{
	if (!progress->on || !atomic_load(&progress->shown))
		return;
	pthread_mutex_lock(&progress->lock);
	if (atomic_exchange(&progress->shown, false))
		put(WIPE);
	pthread_mutex_unlock(&progress->lock);
}
