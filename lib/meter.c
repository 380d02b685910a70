/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "mounts.h"

#define BALANCE_TRIES 100

/* Whoever cannot have the truth may want to know that there is less. */
static void
offer_estimate(struct reason *reason)
{
	reason_add(reason, " (--estimate would take what /proc tells)");
}

int
meter_open(struct meter *meter, const struct meter_choice *choice, struct reason *reason)
{
	bool target = meter->scope == SCOPE_TARGET;
	char text[ESTIMATE_REASON];

	if (!choice->only) {
		meter->probe = probe_open(choice->tier, target, reason);
		if (meter->probe)
			return 0;
		if (!choice->estimate) {
			if (choice->tier == PROBE_ANY)
				offer_estimate(reason);
			return -1;
		}
		diag_note("%s", reason_text(reason));
	}
	meter->estimate = estimate_open("", target, text, sizeof text);
	if (!meter->estimate)
		reason_set(reason, "%s", text);
	return meter->estimate ? 0 : -1;
}

void
meter_close(struct meter *meter)
{
	probe_close(meter->probe);
	estimate_close(meter->estimate);
}

int
meter_target(struct meter *meter, pid_t pid)
{
	return meter->probe ? probe_target(meter->probe, pid)
			    : estimate_target(meter->estimate, pid);
}

/* Where the kernel may not show reads, it shows nothing either of those that it does not. */
static void
note_silence(void)
{
	struct mounts_entry *entry;
	struct mounts mounts;

	if (mounts_open("", &mounts) < 0)
		return;
	while ((entry = mounts_next(&mounts)))
		if (strcmp(entry->type, "squashfs") == 0) {
			diag_note("%s: reads that reach the end of a file of squashfs are not "
				  "counted, but for the first",
			    entry->point);
			break;
		}
	mounts_close(&mounts);
}

void
meter_start(struct meter *meter)
{
	if (!meter->probe)
		return;
	probe_start(meter->probe);
	if (!probe_shows_ends(meter->probe))
		note_silence();
}

static void
describe_probe(const struct probe *probe)
{
	char text[200];
	const char *point, *name;

	probe_describe(probe, text, sizeof text);
	diag_detail("%s", text);
	for (int role = 0; (name = probe_role(probe, role, &point)); role++)
		diag_detail("%s: %s", name, point ? point : "not needed or not in this kernel");
}

void
meter_describe(const struct meter *meter)
{
	char text[200];

	if (meter->probe) {
		describe_probe(meter->probe);
		return;
	}
	estimate_describe(meter->estimate, text, sizeof text);
	diag_note("%s", text);
}

void
meter_tidy(struct meter *meter)
{
	if (meter->probe)
		probe_tidy(meter->probe);
}

const char *
meter_tier(const struct meter *meter)
{
	return meter->probe ? probe_tier(meter->probe) : "proc";
}

static bool
is_same_balance(const struct counters *one, const struct counters *other)
{
	static const enum counter parts[] = { FILLS, MISSES, FAULT_MISSES, MAPPED, WASTE, LOST };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (one->of[parts[i]] != other->of[parts[i]])
			return false;
	return true;
}

/* The sums, and what is pending, of one moment: nothing has changed meanwhile. */
static int
read_balance(struct meter *meter, struct counters *sums, uint64_t *pending)
{
	struct counters before;

	if (probe_sums(meter->probe, SCOPE_ALL, sums) < 0)
		return -1;
	for (int i = 0; i < BALANCE_TRIES; i++) {
		before = *sums;
		*pending = probe_pending(meter->probe);
		if (probe_sums(meter->probe, SCOPE_ALL, sums) < 0)
			return -1;
		if (is_same_balance(&before, sums))
			break;
	}
	return 0;
}

void
meter_identity(struct meter *meter)
{
	struct counters all;
	uint64_t pending;

	if (!meter->probe || read_balance(meter, &all, &pending) < 0)
		return;
	diag_detail("%llu events missed, and %llu more at most",
	    (unsigned long long)probe_missed(meter->probe),
	    (unsigned long long)probe_doubtful(meter->probe));
	diag_detail("fills %llu = misses %llu + fault misses %llu + mapped %llu + waste %llu + "
		    "pending %llu + lost %llu",
	    (unsigned long long)all.of[FILLS], (unsigned long long)all.of[MISSES],
	    (unsigned long long)all.of[FAULT_MISSES], (unsigned long long)all.of[MAPPED],
	    (unsigned long long)all.of[WASTE], (unsigned long long)pending,
	    (unsigned long long)all.of[LOST]);
}

void
meter_account(struct meter *meter)
{
	struct counters all;

	meter_identity(meter);
	if (!meter->probe || probe_sums(meter->probe, SCOPE_ALL, &all) < 0)
		return;
	if (all.of[LOST])
		diag_error("%llu pages could not be noted, and count as hits: too many wait for "
			   "their first access",
		    (unsigned long long)all.of[LOST]);
	if (all.of[UNSEEN])
		diag_error("%llu events were not counted: the kernel gave no memory for what is "
			   "kept of a task, or did not show how a call ended",
		    (unsigned long long)all.of[UNSEEN]);
	if (all.of[SILENT])
		diag_error("pages behind the end of a file of squashfs came in %llu times: the "
			   "kernel does not show reads that reach there, and those that followed "
			   "were not counted",
		    (unsigned long long)all.of[SILENT]);
	if (probe_missed(meter->probe))
		diag_error("%llu events were not counted: the kernel let one of a kind interrupt "
			   "another",
		    (unsigned long long)probe_missed(meter->probe));
}
