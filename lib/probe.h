/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PROBE_H
#define HOTSET_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/types.h>

#include "reason.h"
#include "shared.h"

/*
 * The BPF programs that count page cache accesses: chosen by what the running
 * kernel has, loaded and attached. Nothing is pinned: all of it goes with the
 * process, whatever ends it.
 */
struct probe;

/* The ways to count; PROBE_ANY takes the first that the kernel allows. */
enum probe_tier {
	PROBE_ANY,
	PROBE_FULL,       /* functions, by fentry and fexit */
	PROBE_KPROBE,     /* the same functions, by kprobes and kretprobes */
	PROBE_TRACEPOINT, /* tracepoints only: 6.12 and later */
};

/*
 * Loads and attaches the programs of TIER; with TARGET, SCOPE_TARGET counts those processes
 * that probe_target names. Nothing is counted before probe_start. Fails with NULL
 * and the REASON.
 */
struct probe *probe_open(enum probe_tier tier, bool target, struct reason *reason);

/* Detaches and frees everything. */
void probe_close(struct probe *probe);

/* Adds the process PID, those it has started and all that they will start. -1 with
 * ESRCH where there is no such process, or what the system says. */
int probe_target(struct probe *probe, pid_t pid);

/* Counts from now on. */
void probe_start(struct probe *probe);

/* Brings the sums up to date: counts the read calls that have returned by now. To be
 * called before sums are taken. */
int probe_settle(struct probe *probe);

/* The sums since probe_start, in pages. */
int probe_sums(struct probe *probe, enum scope scope, struct counters *sums);

/* Pages that are filled and not yet accessed, by the ledger's own count. */
uint64_t probe_pending(const struct probe *probe);

/* Events that the kernel did not show a program, since another of the same kind was at
 * work on that processor. */
uint64_t probe_missed(const struct probe *probe);

/* Events that neither of two sets of programs may have seen, at most; but for few each was
 * seen by one of them. */
uint64_t probe_doubtful(const struct probe *probe);

/* Makes room in the ledger where it has become scarce; to be called now and then. */
void probe_tidy(struct probe *probe);

/* Whether the tier counts COUNTER at all. */
bool probe_counts(const struct probe *probe, enum counter counter);

/* Whether it sees reads that reach the end of a file of squashfs: see bpf/traced.h. */
bool probe_shows_ends(const struct probe *probe);

/* "full", "kprobe" or "tracepoint". */
const char *probe_tier(const struct probe *probe);

/* One line for people: how exact the figures are, and what was attached. */
int probe_describe(const struct probe *probe, char *text, size_t size);

/* One role: what it is, and the attach point that was chosen for it; NULL behind
 * the last. */
const char *probe_role(const struct probe *probe, int role, const char **point);

#endif
