/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pace.h"

#include "residency.h"
#include "stop.h"

#define NSEC 1000000000ULL

#define CHUNKS 32 /* a second, or more */
#define LEAST  4  /* pages a second: each is waited for a quarter of it */

/*
 * Who wakes up late may make up for so much (ns), or the rate would never be reached where a
 * chunk takes little longer than it takes to wake up. A second's bytes take so much longer than
 * a second, so that no second has more of them.
 */
#define CREDIT 4000000ULL

void
pace_begin(struct pace *pace, uint64_t rate)
{
	pace->rate = rate;
	pace->paid = 0;
	pthread_mutex_init(&pace->lock, NULL);
}

uint64_t
pace_least(void)
{
	return LEAST * residency_page_size();
}

uint64_t
pace_chunk(const struct pace *pace)
{
	uint64_t page = residency_page_size(), pages = pace->rate / CHUNKS / page;

	if (!pace->rate)
		return UINT64_MAX;
	return pages ? pages * page : page;
}

/* How long BYTES take, in ns; a year stands for longer. */
static uint64_t
duration(const struct pace *pace, uint64_t bytes)
{
	double time = (double)bytes * (double)(NSEC + CREDIT) / (double)pace->rate;
	double year = 366.0 * 24 * 3600 * (double)NSEC;

	return (uint64_t)(time < year ? time : year);
}

/*
 * Sleeps with the lock: so threads go one by one, and none that wakes up late falls together
 * with the next. A stop ends the sleep, and then all see it.
 */
bool
pace_wait(struct pace *pace, uint64_t bytes)
{
	uint64_t now;

	if (!pace->rate)
		return !stop_asked();
	pthread_mutex_lock(&pace->lock);
	now = stop_now();
	if (pace->paid + CREDIT < now)
		pace->paid = now - CREDIT;
	if (!stop_asked()) {
		pace->paid += duration(pace, bytes);
		stop_sleep(pace->paid, -1);
	}
	pthread_mutex_unlock(&pace->lock);
	return !stop_asked();
}
