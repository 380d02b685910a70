/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "estimate.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num.h"
#include "procs.h"
#include "vmstat.h"

/* include/linux/proc_ns.h: the initial pid namespace has this inode on every kernel */
#define PID_NAMESPACE_INODE 0xEFFFFFFCU

/* How often a look is repeated, where a process ended in the middle of it. */
#define TRIES 5

#define ALL ((1U << ESTIMATE_FIGURES) - 1)

enum whose {
	MACHINE,     /* all processes, with the sums that the kernel itself has */
	VISIBLE,     /* those that can be looked at from here */
	ONE_PROCESS, /* and its children */
};

struct estimate {
	const char *root;
	enum whose scope;
	pid_t pid;     /* of ONE_PROCESS */
	bool ours;     /* it is our child: once we have waited for it, its figures are ours */
	size_t hidden; /* processes that we may not look at, when it began */
	bool looked;
	struct procs procs; /* of the look before */
	struct procs_io self;
	struct vmstat vmstat;
	struct estimate_sums sums;
};

/* ONE as it was at the look before, where it was a member then; else NULL. */
static const struct procs_one *
member_before(const struct estimate *estimate, const struct procs_one *one)
{
	const struct procs_one *before = procs_find(&estimate->procs, one);

	return before && before->member ? before : NULL;
}

static bool
has_member(const struct procs *procs, pid_t pid)
{
	const struct procs_one *one = procs_numbered(procs, pid);

	return one && one->member;
}

/* Marks whom it is about: a process whose parent has ended is still known from before. */
static void
mark_members(const struct estimate *estimate, struct procs *procs)
{
	bool one_process = estimate->scope == ONE_PROCESS, found = one_process;
	pid_t self = getpid();

	for (size_t i = 0; i < procs->count; i++) {
		struct procs_one *one = &procs->all[i];

		one->member = one_process
		    ? one->pid == estimate->pid || member_before(estimate, one)
		    : one->pid != self;
	}
	while (found) {
		found = false;
		for (size_t i = 0; i < procs->count; i++) {
			struct procs_one *one = &procs->all[i];

			if (!one->member && has_member(procs, one->parent))
				one->member = found = true;
		}
	}
}

/*
 * Reads what ONE has done; where it has gone meanwhile it is no member. Nor is one that we may
 * not look at: what we once saw of it stays, and all of it is its parent's once that has waited
 * for it, as of the dead it soon has. -1 where it is alive and cannot be left out.
 */
static int
read_member(const struct estimate *estimate, struct procs_one *one)
{
	const struct procs_one *before = member_before(estimate, one);

	if (procs_io(estimate->root, one, &one->io) == 0)
		return 0;
	if (errno == EACCES && before) {
		one->io = before->io;
		return 0;
	}
	one->hidden = errno == EACCES && !one->dead;
	one->member = false;
	if (one->hidden)
		return estimate->scope == VISIBLE ? 0 : -1;
	return errno == EACCES || errno == ENOENT || errno == ESRCH ? 0 : -1;
}

static int
read_members(const struct estimate *estimate, struct procs *procs)
{
	for (size_t i = 0; i < procs->count; i++)
		if (procs->all[i].member && read_member(estimate, &procs->all[i]) < 0)
			return -1;
	return 0;
}

/*
 * Whether nobody that was there at the look before has ended since PROCS was listed. Else its
 * figures may be in its parent's too, or in neither's. (Who began since then did less.)
 */
static bool
is_steady(const struct estimate *estimate, const struct procs *procs)
{
	for (size_t i = 0; i < procs->count; i++)
		if (member_before(estimate, &procs->all[i]) &&
		    !procs_exists(estimate->root, &procs->all[i]))
			return false;
	return true;
}

/* All processes, and what the members have done. -1 with errno; EAGAIN: too much ends. */
static int
survey(const struct estimate *estimate, struct procs *procs)
{
	int error;

	for (int i = 0; i < TRIES; i++) {
		if (procs_list(estimate->root, procs) < 0)
			return -1;
		mark_members(estimate, procs);
		if (read_members(estimate, procs) < 0) {
			error = errno;
			procs_free(procs);
			errno = error;
			return -1;
		}
		if (is_steady(estimate, procs))
			return 0;
		procs_free(procs);
	}
	errno = EAGAIN;
	return -1;
}

/*
 * Whether what BEFORE, of the look before, has done since is in PROCS: it is there, or
 * its parent is, which will have waited for it, or whoever has waited for that, or we have.
 */
static bool
is_kept(const struct estimate *estimate, const struct procs_one *before, const struct procs *procs)
{
	while (before && before->member) {
		if (procs_find(procs, before) || has_member(procs, before->parent) ||
		    (estimate->ours && before->parent == getpid()))
			return true;
		before = procs_numbered(&estimate->procs, before->parent);
	}
	return false;
}

/* Whether that goes for all; of those that we may look at, one that went elsewhere is
 * left out from here on. Of the whole machine, somebody always has waited for it. */
static bool
is_whole(struct estimate *estimate, const struct procs *procs)
{
	for (size_t i = 0; i < estimate->procs.count && estimate->scope != MACHINE; i++) {
		struct procs_one *before = &estimate->procs.all[i];

		if (!before->member || is_kept(estimate, before, procs))
			continue;
		before->member = false;
		if (estimate->scope == ONE_PROCESS)
			return false;
	}
	return true;
}

static void
add_io(struct procs_io *sum, const struct procs_io *io)
{
	sum->read += io->read;
	sum->fetched += io->fetched;
	sum->dirtied += io->dirtied;
	sum->faults += io->faults;
}

static struct procs_io
sum_of(const struct procs *procs)
{
	struct procs_io sum = { 0 };

	for (size_t i = 0; i < procs->count; i++)
		if (procs->all[i].member)
			add_io(&sum, &procs->all[i].io);
	return sum;
}

/* What is more in TO than in FROM; NUM_UNKNOWN where it is less: something was lost. */
static uint64_t
growth(uint64_t from, uint64_t to)
{
	return to == NUM_UNKNOWN || to < from ? NUM_UNKNOWN : to - from;
}

/* In bytes. */
static uint64_t
scaled(uint64_t number, uint64_t scale)
{
	uint64_t bytes;

	return number == NUM_UNKNOWN || __builtin_mul_overflow(number, scale, &bytes) ? NUM_UNKNOWN
										      : bytes;
}

/* What processes have done more than at the look before; unknown where some of it is lost,
 * since it is lost from all: the others only grew more meanwhile. */
static void
measure_processes(struct estimate *estimate, const struct procs *procs, const struct procs_io *self,
    uint64_t more[ESTIMATE_FIGURES])
{
	bool whole = is_whole(estimate, procs);
	struct procs_io from = sum_of(&estimate->procs), to = sum_of(procs);

	/* what we did, we did at the last look, but for what a child of ours left us */
	add_io(&from, &estimate->self);
	add_io(&to, self);
	if (!whole || to.read < from.read || to.fetched < from.fetched ||
	    to.dirtied < from.dirtied || to.faults < from.faults)
		return;
	more[ESTIMATE_READ] = to.read - from.read;
	more[ESTIMATE_FETCHED] = to.fetched - from.fetched;
	more[ESTIMATE_DIRTIED] = to.dirtied - from.dirtied;
	more[ESTIMATE_FAULTS] = to.faults - from.faults;
}

/* The machine's own sums miss nobody, whoever has ended. */
static void
measure_machine(const struct vmstat *from, const struct vmstat *to, uint64_t swapped,
    uint64_t more[ESTIMATE_FIGURES])
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	more[ESTIMATE_FETCHED] = growth(scaled(swapped, page),
	    scaled(growth(from->pgpgin, to->pgpgin), 1024));
	more[ESTIMATE_DIRTIED] = scaled(growth(from->nr_dirtied, to->nr_dirtied), page);
	more[ESTIMATE_FAULTS] = growth(from->pgmajfault, to->pgmajfault);
}

/* Adds MORE to the sums; what was read and what was fetched only together, so that one may
 * be set against the other. */
static void
advance(struct estimate_sums *sums, uint64_t more[ESTIMATE_FIGURES])
{
	if (more[ESTIMATE_READ] == NUM_UNKNOWN || more[ESTIMATE_FETCHED] == NUM_UNKNOWN)
		more[ESTIMATE_READ] = more[ESTIMATE_FETCHED] = NUM_UNKNOWN;
	for (int i = 0; i < ESTIMATE_FIGURES; i++) {
		if (more[i] == NUM_UNKNOWN)
			sums->unknown |= 1U << i;
		else
			sums->of[i] += more[i];
	}
}

/* What has happened since the look before. */
static void
measure(struct estimate *estimate, const struct procs *procs, const struct procs_io *self,
    const struct vmstat *vmstat)
{
	uint64_t more[ESTIMATE_FIGURES] = { NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN };
	uint64_t swapped = growth(estimate->vmstat.pswpin, vmstat->pswpin);

	measure_processes(estimate, procs, self, more);
	if (estimate->scope == MACHINE)
		measure_machine(&estimate->vmstat, vmstat, swapped, more);
	if (swapped) /* or that is unknown: faults may be those of memory without a file */
		more[ESTIMATE_FAULTS] = NUM_UNKNOWN;
	advance(&estimate->sums, more);
}

/* What we have done, as far as it matters: where the process is a child of ours. */
static void
look_at_self(const struct estimate *estimate, struct procs_io *io)
{
	struct procs_one self = { .pid = getpid() };

	if (!estimate->ours || procs_look(estimate->root, &self) < 0 ||
	    procs_io(estimate->root, &self, io) < 0)
		*io = (struct procs_io){ 0 };
}

int
estimate_look(struct estimate *estimate, struct estimate_sums *sums)
{
	struct procs procs = { 0 };
	struct procs_io self;
	struct vmstat vmstat;
	bool surveyed;

	look_at_self(estimate, &self);
	surveyed = survey(estimate, &procs) == 0;

	/* a child may have become somebody else, whom we may not look at */
	if (!surveyed && errno != EAGAIN && errno != EACCES)
		return -1;
	if (vmstat_read(estimate->root, &vmstat) < 0) {
		procs_free(&procs);
		return -1;
	}
	estimate->sums.unknown = surveyed && estimate->looked ? 0 : ALL;
	if (estimate->sums.unknown == 0)
		measure(estimate, &procs, &self, &vmstat);
	procs_free(&estimate->procs);
	estimate->procs = procs;
	estimate->vmstat = vmstat;
	estimate->looked = surveyed;
	*sums = estimate->sums;
	look_at_self(estimate, &estimate->self);
	return 0;
}

/* With a pid namespace of its own, a container does not see the host's processes. */
static bool
sees_host(const struct estimate *estimate)
{
	struct stat status;
	char *path = NULL;
	bool seen = true;

	if (asprintf(&path, "%s/proc/self/ns/pid", estimate->root) < 0)
		return false;
	if (stat(path, &status) == 0)
		seen = status.st_ino == PID_NAMESPACE_INODE;
	free(path);
	return seen;
}

/* Whom we may look at; MACHINE where that is everybody. */
static int
find_scope(struct estimate *estimate, char *reason, size_t size)
{
	struct procs procs;
	bool partly;

	estimate->scope = VISIBLE;
	if (survey(estimate, &procs) < 0) {
		snprintf(reason, size, "cannot estimate from %s/proc: %s", estimate->root,
		    strerror(errno));
		return -1;
	}
	for (size_t i = 0; i < procs.count; i++)
		estimate->hidden += procs.all[i].hidden;
	/* mounted with hidepid, /proc shows a user only his own */
	partly = estimate->hidden || !procs_numbered(&procs, 1);
	procs_free(&procs);
	if (!partly && sees_host(estimate))
		estimate->scope = MACHINE;
	if (!partly || geteuid() == 0)
		return 0;
	snprintf(reason, size,
	    "what others read is in /proc/PID/io, which root may read, or whoever has "
	    "CAP_SYS_PTRACE: a process of your own (--pid) or a command can be estimated");
	return -1;
}

struct estimate *
estimate_open(const char *root, bool target, char *reason, size_t size)
{
	struct estimate *estimate = calloc(1, sizeof *estimate);
	struct procs_one self = { .pid = getpid() };

	if (!estimate) {
		snprintf(reason, size, "%s", strerror(errno));
		return NULL;
	}
	estimate->root = root;
	estimate->scope = ONE_PROCESS;
	if (procs_io("", &self, &self.io) < 0)
		snprintf(reason, size,
		    "cannot estimate: /proc/PID/io: %s (/proc must be mounted, and the kernel built "
		    "with CONFIG_TASK_IO_ACCOUNTING)",
		    strerror(errno));
	else if (target || find_scope(estimate, reason, size) == 0)
		return estimate;
	estimate_close(estimate);
	return NULL;
}

void
estimate_close(struct estimate *estimate)
{
	if (!estimate)
		return;
	procs_free(&estimate->procs);
	free(estimate);
}

int
estimate_target(struct estimate *estimate, pid_t pid)
{
	struct procs procs;
	bool there;

	estimate->pid = pid;
	if (survey(estimate, &procs) < 0)
		return -1;
	there = has_member(&procs, pid);
	estimate->ours = there && procs_numbered(&procs, pid)->parent == getpid();
	procs_free(&procs);
	if (there)
		return 0;
	errno = ESRCH;
	return -1;
}

int
estimate_describe(const struct estimate *estimate, char *text, size_t size)
{
	if (estimate->scope == MACHINE)
		return snprintf(text, size,
		    "estimate: from /proc/vmstat, and /proc/PID/io of all processes");
	if (estimate->scope == ONE_PROCESS)
		return snprintf(text, size,
		    "estimate: from /proc/PID/io of the process and its children");
	if (estimate->hidden)
		return snprintf(text, size,
		    "estimate: from /proc/PID/io; processes that may not be looked at: %zu",
		    estimate->hidden);
	return snprintf(text, size, "estimate: from /proc/PID/io of this container's processes");
}
