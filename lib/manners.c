/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manners.h"

#include "diag.h"
#include "stop.h"

#define NSEC  1000000000ULL
#define QUIET NSEC /* so long memory must not be tight, to go on */

int
manners_begin(struct manners *manners, uint64_t rate, struct progress *progress)
{
	pace_begin(&manners->pace, rate);
	manners->progress = progress;
	manners->paused = 0;
	pthread_mutex_init(&manners->lock, NULL);
	if (pressure_begin(&manners->pressure, "", stop_now()) < 0)
		return -1;
	if (!pressure_known(&manners->pressure))
		diag_detail("this kernel does not tell whether memory is tight: no pause for it");
	return 0;
}

/* Until a second has been quiet. The lock is held: so all others wait as well. */
static void
pause_now(struct manners *manners)
{
	uint64_t start = stop_now(), now = start, quiet = start + QUIET;
	char words[PRESSURE_WORDS];

	progress_clear(manners->progress);
	diag_note("memory is tight: %s; reading pauses", pressure_words(&manners->pressure, words));
	while (!stop_asked() && now < quiet) {
		stop_sleep(now + PRESSURE_WINDOW, -1);
		now = stop_now();
		if (pressure_tight(&manners->pressure, now))
			quiet = now + QUIET;
	}
	manners->paused += now - start;
	progress_rest(manners->progress, now - start);
	if (!stop_asked())
		diag_note("memory is no longer tight: reading goes on after %.1f s",
		    (double)(now - start) / NSEC);
}

bool
manners_wait(struct manners *manners, uint64_t bytes)
{
	pthread_mutex_lock(&manners->lock);
	if (!stop_asked() && pressure_tight(&manners->pressure, stop_now()))
		pause_now(manners);
	pthread_mutex_unlock(&manners->lock);
	return pace_wait(&manners->pace, bytes);
}

/* A thread that hangs in the kernel hangs without the lock. */
void
manners_report(struct manners *manners)
{
	pthread_mutex_lock(&manners->lock);
	if (manners->paused)
		diag_note("paused for %.1f s in all, while memory was tight",
		    (double)manners->paused / NSEC);
	pthread_mutex_unlock(&manners->lock);
}

void
manners_free(struct manners *manners)
{
	pressure_free(&manners->pressure);
}
