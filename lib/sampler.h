/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SAMPLER_H
#define HOTSET_SAMPLER_H

#include "samples.h"

/*
 * Gets samples, from a run of hitratio or from a stream. Both end early where
 * stop_asked, and leave no process behind.
 */

/* Room for the longest that hitratio gives, each tier's reason and a remedy, several times. */
#define SAMPLER_REASON 4096

/*
 * Runs ARGV and sums what it prints. -1 and REASON where it failed, was stopped or
 * printed something else; the reason is the program's own where it gave one. Done in part
 * (exit status 1) is done where it is known how much is missing: samples->lost, or
 * samples->uncounted. What it says besides is a detail (diag).
 */
int sampler_run(struct samples *samples, char *const argv[], char reason[static SAMPLER_REASON]);

/* Sums what comes from FD to its end, called NAME in a reason. */
int
sampler_read(struct samples *samples, int fd, const char *name, char reason[static SAMPLER_REASON]);

#endif
