/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

typedef unsigned long long u64;

static bool
is_between(u64 counted, u64 least, u64 most)
{
	return counted >= least && counted <= most;
}

static bool
has_only_tracepoints(const struct figures *counted)
{
	return strcmp(counted->tier, "tracepoint") == 0;
}

static bool
has_kretprobes(const struct figures *counted)
{
	return strcmp(counted->tier, "kprobe") == 0;
}

static bool
is_before(int major, int minor)
{
	struct utsname kernel;
	int this_major, this_minor;

	return uname(&kernel) == 0 &&
	    sscanf(kernel.release, "%d.%d", &this_major, &this_minor) == 2 &&
	    (this_major < major || (this_major == major && this_minor < minor));
}

/* Whether ends of calls may have gone unseen: from 7.2 on hitratio uses what has room for all. */
static bool
misses_ends(const struct truth *truth, const struct figures *counted)
{
	return truth->many_wait && has_kretprobes(counted) && is_before(7, 2);
}

/* There is no filemap_splice_read. */
static bool
splices_by_reading(void)
{
	return is_before(6, 5);
}

/* The least and the most that may be counted of what the truth has as TRUTH. */
struct range {
	u64 least, most;
};

static struct range
range(int checks, int which, const struct truth *truths, const struct figures *counted, u64 truth)
{
	bool tracepoints = has_only_tracepoints(counted);
	u64 unsure = truths->unsure;

	if (!(checks & which))
		return (struct range){ 0, ~0ULL };
	if (checks & STANDING && !tracepoints)
		return (struct range){ truth, which == MISSES ? truth + unsure : truth };
	if (misses_ends(truths, counted))
		return (struct range){ 0, truth };
	if (tracepoints && checks & WHOLE_CALLS)
		return (struct range){ truth > unsure ? truth - unsure : 0, truth + unsure };
	if (tracepoints && checks & UNSEEN_CALLS)
		return (struct range){ truth - (unsure < truth / 2 ? unsure : truth / 2), truth };
	if (tracepoints && checks & MOST)
		return (struct range){ truth - truth / 10, truth };
	return (struct range){ truth, truth };
}

static bool
are_faults_bound(int checks, const struct figures *counted)
{
	return checks & FAULT_BOUND || (checks & AROUND && has_only_tracepoints(counted));
}

/* Of pages that a fault filled or found filled, and those mapped around it. */
static struct range
range_mapped(const struct truth *truth, const struct figures *counted)
{
	bool unseen = has_only_tracepoints(counted) && !truth->order_0;

	return (struct range){ unseen ? truth->major : truth->touched, truth->filled };
}

static bool
faults_are_right(int checks, const struct truth *truth, const struct figures *counted)
{
	struct range mapped = range_mapped(truth, counted);

	if (checks & FAULTS && counted->faults != truth->faults)
		return false;
	if (checks & FAULT_MISSES)
		return counted->fault_misses == truth->touched && counted->mapped == 0;
	if (checks & AROUND && !has_only_tracepoints(counted))
		return counted->fault_misses == truth->fault_misses &&
		    counted->mapped == truth->mapped;
	return !are_faults_bound(checks, counted) ||
	    (is_between(counted->fault_misses, truth->major, truth->faults) &&
		is_between(counted->fault_misses + counted->mapped, mapped.least, mapped.most));
}

static bool
stalls_are_right(const struct workload *load, const struct truth *truth,
    const struct figures *counted)
{
	u64 misses = truth->misses;

	if (!counted->has_stalls)
		return true;
	if (load->checks & STALLS && !misses_ends(truth, counted))
		return counted->stalls == (load->state == WARM ? 0 : misses);
	/* each brought in a page that it was to read, which was missing then */
	return !(load->checks & FILLS) || counted->stalls <= misses;
}

static void
print_counted(const struct figures *counted)
{
	printf("%llu hits, %llu misses", counted->hits, counted->misses);
	if (counted->faults || counted->fault_misses || counted->mapped)
		printf(", %llu faults, %llu fault misses, %llu mapped", counted->faults,
		    counted->fault_misses, counted->mapped);
	if (counted->has_stalls)
		printf(", %llu stalls", counted->stalls);
	printf(", %llu fills, %llu dirtied, %llu lost", counted->fills, counted->dirties,
	    counted->lost);
}

/* One bound, unless it is a point; returns whether it was. */
static bool
print_range(const char *what, struct range range, bool first)
{
	if (range.least == range.most)
		return false;
	printf("%s%s %llu to %llu", first ? " (bound: " : ", ", what, range.least, range.most);
	return true;
}

/* What the truth does not settle to the page. */
static bool
print_bounds(const struct workload *load, const struct truth *truth, const struct figures *counted,
    struct range hits, struct range misses)
{
	bool any = false;

	if (load->checks & HITS)
		any |= print_range("hits", hits, !any);
	if (load->checks & MISSES)
		any |= print_range("misses", misses, !any);
	if (are_faults_bound(load->checks, counted)) {
		any |= print_range("fault misses", (struct range){ truth->major, truth->faults },
		    !any);
		any |= print_range("with mapped", range_mapped(truth, counted), !any);
	}
	if (any)
		putchar(')');
	return any;
}

static bool
is_right(const struct workload *load, const struct truth *truth, const struct figures *counted,
    struct range hits, struct range misses)
{
	return counted->lost == 0 && is_between(counted->hits, hits.least, hits.most) &&
	    is_between(counted->misses, misses.least, misses.most) &&
	    (!(load->checks & FILLS) || counted->fills == truth->filled) &&
	    (!(load->checks & DIRTIES) || counted->dirties == truth->dirtied) &&
	    stalls_are_right(load, truth, counted) &&
	    faults_are_right(load->checks, truth, counted);
}

static void
print_truth(const struct workload *load, const struct truth *truth, const struct figures *counted,
    u64 hits)
{
	printf("%s: %llu hits, %llu misses", load->name, load->checks & HITS ? hits : 0,
	    (u64)truth->misses);
	if (load->checks & FAULT_MISSES)
		printf(", %llu fault misses", (u64)truth->touched);
	else if (load->checks & AROUND && !has_only_tracepoints(counted))
		printf(", %llu fault misses, %llu mapped", (u64)truth->fault_misses,
		    (u64)truth->mapped);
	if (load->checks & FAULTS)
		printf(", %llu faults", (u64)truth->faults);
	if (load->checks & FILLS)
		printf(", %llu fills", (u64)truth->filled);
	if (load->checks & DIRTIES)
		printf(", %llu dirtied", (u64)truth->dirtied);
}

bool
judge(const struct workload *load, const struct truth *truth, const struct figures *counted,
    unsigned number)
{
	u64 hits = truth->accesses - truth->misses;
	struct range of_hits = range(load->checks, HITS, truth, counted, hits);
	struct range of_misses = range(load->checks, MISSES, truth, counted, truth->misses);
	bool right, bound;

	if (load->checks & PIECES && splices_by_reading())
		of_hits.most += truth->borders;
	if (load->checks & HEAD_BOUND)
		of_hits.most++;
	right = is_right(load, truth, counted, of_hits, of_misses);
	printf("%sok %u - ", right ? "" : "not ", number);
	print_truth(load, truth, counted, hits);
	bound = print_bounds(load, truth, counted, of_hits, of_misses);
	if (!right || bound) {
		printf(right ? ", counted " : " but counted ");
		print_counted(counted);
	}
	putchar('\n');
	return right;
}

static u64
short_of(u64 truth, u64 counted)
{
	return truth > counted ? truth - counted : 0;
}

u64
judge_missing(const struct truth *truth, const struct figures *counted)
{
	u64 accesses, misses;

	if (!misses_ends(truth, counted))
		return 0;
	accesses = short_of(truth->accesses, counted->hits + counted->misses);
	misses = short_of(truth->misses, counted->misses);
	return ((accesses > misses ? accesses : misses) + truth->many_wait - 1) / truth->many_wait;
}
