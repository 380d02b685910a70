/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock: keep files in memory, without taking the host down */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "child.h"
#include "diag.h"
#include "hold.h"
#include "keeper.h"
#include "memlock.h"
#include "num.h"
#include "opts.h"
#include "out.h"
#include "select.h"
#include "spool.h"
#include "status.h"
#include "stop.h"

#define DEFAULT_SHARE 25.0           /* percent: the rest must do for everything else */
#define LOOK          100000000ULL   /* ns between looks at a child */
#define QUIET         30000000000ULL /* ns */
#define BYTES(n)      num_human(n, (char[NUM_HUMAN]){ 0 })

struct options {
	struct opts_common common;
	struct select select;
	struct num_share max;
	bool dry_run;
	uint64_t quiet_time; /* ns */
};

static const struct opts_option options[] = {
	{ 0, "max", "SIZE|PCT", opts_share, offsetof(struct options, max),
	    "pin no more (default 25%)" },
	{ 0, "quiet-time", "DURATION", opts_duration, offsetof(struct options, quiet_time),
	    "after memory was tight, pin again when it has not been for so long (default 30s)" },
	{ 0, "dry-run", NULL, opts_flag, offsetof(struct options, dry_run),
	    "only show what would be pinned, and whether it may be" },
	{ 0 },
};

struct run {
	struct options *options;
	struct keeper keeper;
	char **command; /* NULL: none */
	struct out out;
};

static void
complain(const char *path, const char *why)
{
	diag_error("%s: %s", path, why);
}

static void
tell(const char *text, void *argument)
{
	(void)argument;
	diag_note("%s", text);
}

/* Into *ALLOWED the part of the whole that SHARE is, and into WORDS what that is. */
static int
take_share(const struct budget *budget, struct num_share share, uint64_t *allowed,
    char words[static BUDGET_WORDS])
{
	uint64_t locked = budget->locked == BUDGET_UNKNOWN ? 0 : budget->locked;
	char whole[BUDGET_WORDS];

	if (budget_allow(budget, &share, allowed) < 0)
		return -1;
	/* more than there is: a hard limit is never worth a try */
	if (*allowed > budget->whole) {
		*allowed = budget->whole;
		share.percent = 100;
	}
	if (share.percent < 0) {
		snprintf(words, BUDGET_WORDS, "as --max says");
		return 0;
	}
	/* what others have locked is a part of the same share */
	*allowed -= locked < *allowed ? locked : *allowed;
	budget_words(budget->whole_group, budget->whole, whole);
	snprintf(words, BUDGET_WORDS, "%.4g%% %.*s", share.percent, BUDGET_WORDS - 64, whole);
	if (locked)
		snprintf(words + strlen(words), BUDGET_WORDS - strlen(words),
		    ", less %s that is locked", BYTES(locked));
	return 0;
}

static int
set_limit(struct run *run, const struct budget *budget, char words[static BUDGET_WORDS])
{
	struct num_share share = run->options->max;
	struct keeper *keeper = &run->keeper;

	if (!budget_given(&share))
		share = (struct num_share){ .percent = DEFAULT_SHARE };
	if (take_share(budget, share, &keeper->allowed, words) < 0 ||
	    (budget->room == BUDGET_UNKNOWN && share.percent >= 0)) {
		diag_error("how much memory there is, or is free, cannot be told; --max=SIZE says "
			   "how much may be pinned");
		return -1;
	}
	for (size_t i = 0; i < keeper->holds_count; i++)
		keeper->holds[i].limit = keeper->allowed;
	return 0;
}

/* Whether what is asked for and not in memory yet fits into what is free or idle. */
static bool
has_room(struct keeper *keeper, const struct budget *budget)
{
	unsigned long long missing, room = budget->room;
	char words[BUDGET_WORDS];
	uint64_t bytes;

	if (room == BUDGET_UNKNOWN || keeper->asked <= room)
		return true;
	missing = keeper_missing(keeper, &bytes) < 0 ? keeper->asked : bytes;
	if (missing <= room)
		return true;
	budget_words(budget->room_group, budget->room_limit, words);
	diag_error("refused: %s (%llu bytes) not in memory yet, %s (%llu bytes) free or idle %s: "
		   "ask for less, or free memory",
	    BYTES(missing), missing, BYTES(room), room, words);
	return false;
}

/* Whether all of it may be pinned; if not, says which limit is in the way. */
static bool
preflight(struct keeper *keeper, const struct budget *budget, const char *words)
{
	unsigned long long asked = keeper->asked, allowed = keeper->allowed;
	uint64_t limit;

	if (keeper->asked == HOLD_UNKNOWN) {
		diag_error("refused: more than 2^64 bytes asked, %s (%llu bytes) allowed: %s",
		    BYTES(allowed), allowed, words);
		return false;
	}
	if (asked > allowed) {
		diag_error("refused: %s (%llu bytes) asked, %s (%llu bytes) allowed: %s; "
			   "--max=SIZE|PCT changes it",
		    BYTES(asked), asked, BYTES(allowed), allowed, words);
		return false;
	}
	if (!memlock_allows(asked, &limit)) {
		diag_error("refused: %s (%llu bytes) asked, the limit on locked memory "
			   "(RLIMIT_MEMLOCK) is %s (%llu bytes): raise it (ulimit -l, or "
			   "LimitMEMLOCK= of a systemd unit), or give this program the capability "
			   "(setcap cap_ipc_lock+ep)",
		    BYTES(asked), asked, BYTES(limit), (unsigned long long)limit);
		return false;
	}
	return has_room(keeper, budget);
}

static int
put_rows(struct run *run)
{
	const struct keeper *keeper = &run->keeper;
	struct hold total = { .name = "total", .limit = keeper->allowed };
	bool single = keeper->holds_count == 1 || run->out.format != OUT_TEXT;

	for (size_t i = 0; i < keeper->holds_count; i++) {
		const struct hold *hold = &keeper->holds[i];

		if (hold->failed && hold->files == 0)
			continue; /* nothing of it is known */
		if (hold_row(hold, &run->out) < 0)
			return out_explain(&run->out);
		hold_add(&total, hold);
	}
	if ((!single && hold_row(&total, &run->out) < 0) || out_commit(&run->out) < 0)
		return out_explain(&run->out);
	return STATUS_DONE;
}

/* When memory runs short we go first, not what needs the files. */
static void
volunteer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1000", 4) != 4)
		diag_detail("/proc/self/oom_score_adj: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/*
 * Until the command has ended; a signal to us is passed on to it. When the time is
 * over, it is ended, which may take a while: all is let go before.
 */
static int
await(struct run *run, pid_t pid)
{
	int wait_status, ended;

	while ((ended = child_poll(pid, &wait_status)) == 0 && !stop_asked()) {
		uint64_t look = stop_now() + LOOK, due = keeper_tend(&run->keeper);

		stop_sleep(due < look ? due : look, keeper_fd(&run->keeper));
	}
	if (ended == 0 && stop_asked() == SIGALRM) {
		keeper_release(&run->keeper);
		ended = child_end(pid, &wait_status);
		if (ended == 0) {
			diag_error("the command does not end, not even by SIGKILL");
			return STATUS_FAILED;
		}
	} else if (ended == 0) {
		kill(pid, stop_asked());
		ended = child_wait(pid, &wait_status) < 0 ? -1 : 1;
	}
	if (ended < 0) {
		diag_error("the command is lost: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return child_status(wait_status);
}

/* Pins and reports; fails also where there is nothing to hold then. */
static int
pin(struct run *run)
{
	struct keeper *keeper = &run->keeper;
	int status;

	memlock_raise(keeper->asked); /* the command, which runs already, does without */
	if (keeper_pin(keeper) < 0) {
		diag_error("cannot start: %s", strerror(errno));
		return STATUS_FAILED;
	}
	status = put_rows(run);
	if (status != STATUS_DONE)
		return status;
	if (stop_asked() == SIGALRM && keeper->partial)
		diag_error("not all is pinned within the time allowed (--timeout)");
	if (keeper->asked == 0 || keeper_holds(keeper))
		return STATUS_DONE;
	if (!stop_asked())
		diag_error("nothing is pinned");
	return STATUS_FAILED;
}

static int
hold_until_stopped(struct run *run)
{
	int status = pin(run);

	while (status == STATUS_DONE && !stop_asked())
		stop_sleep(keeper_tend(&run->keeper), keeper_fd(&run->keeper));
	if (status == STATUS_DONE && run->keeper.partial)
		status = STATUS_PART;
	return stop_status(status);
}

static int
hold_for_command(struct run *run, pid_t pid, int go)
{
	int status = pin(run);

	if (status == STATUS_DONE && !stop_asked()) {
		status = child_release(go) < 0 ? STATUS_FAILED : await(run, pid);
		return status == STATUS_DONE && run->keeper.partial ? STATUS_PART : status;
	}
	close(go); /* it ends without having begun */
	child_wait(pid, &(int){ 0 });
	return stop_status(status == STATUS_DONE ? STATUS_FAILED : status);
}

static int
hold(struct run *run)
{
	int go, status, released;
	pid_t pid = -1;

	/* before we volunteer: the command keeps its own oom_score_adj */
	if (run->command && (pid = child_start(run->command, &go)) < 0) {
		diag_file(run->command[0], errno);
		return STATUS_FAILED;
	}
	volunteer();
	status = run->command ? hold_for_command(run, pid, go) : hold_until_stopped(run);
	keeper_release(&run->keeper);
	/* a second set of the same metrics in one stream would be no valid one */
	if (run->out.format == OUT_PROM && !run->out.file.path)
		return status;
	released = put_rows(run);
	return released == STATUS_DONE ? status : released;
}

/* What would be pinned, or is refused. */
static int
show(struct run *run, bool fits)
{
	struct keeper *keeper = &run->keeper;
	int status;

	for (size_t i = 0; !fits && i < keeper->holds_count; i++)
		keeper->holds[i].state = "refused";
	status = put_rows(run);
	if (status != STATUS_DONE)
		return status;
	if (fits)
		diag_note("%s may be pinned", BYTES(keeper->asked));
	return !fits ? STATUS_FAILED : keeper->partial ? STATUS_PART : STATUS_DONE;
}

static int
run_with(struct run *run)
{
	struct keeper *keeper = &run->keeper;
	char words[BUDGET_WORDS];
	struct budget budget;
	bool fits;

	if (keeper_survey(keeper) < 0) {
		diag_error("cannot start: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (stop_asked() == SIGALRM)
		diag_error("nothing is pinned: the time allowed (--timeout) was over before");
	if (stop_asked() || (keeper->partial && keeper->asked == 0))
		return stop_status(STATUS_FAILED);
	if (budget_read("", &budget) < 0) {
		diag_error("cannot start: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (set_limit(run, &budget, words) < 0) {
		budget_free(&budget);
		return STATUS_UNKNOWN;
	}
	fits = preflight(keeper, &budget, words);
	budget_free(&budget);
	return fits && !run->options->dry_run ? hold(run) : show(run, fits);
}

/* Operands end at "--", which starts the command. */
static void
split(struct run *run, int argc, char **argv, int first)
{
	int i = strcmp(argv[first - 1], "--") == 0 ? first - 1 : first;

	run->keeper.operands = argv + i;
	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	run->keeper.count = (size_t)(argv + i - run->keeper.operands);
	if (i < argc)
		run->command = argv + i + 1;
}

/* The list is read twice: to see what is asked for, and to pin it. */
static int
prepare(struct run *run, char path[static SPOOL_PATH])
{
	const char **list = &run->options->select.files_from, *name = *list;

	if (keeper_begin(&run->keeper, name) < 0) {
		diag_error("%s", strerror(errno));
		return -1;
	}
	if (!name)
		return 0;
	*list = spool_list(name, path);
	if (*list)
		return 0;
	diag_error("%s: %s", name, spool_error(errno));
	return -1;
}

static const struct opts_tool tool = {
	"lock",
	"[options] PATH... [-- COMMAND [ARGUMENT...]]\n"
	"[options] -T FILE [PATH...] [-- COMMAND [ARGUMENT...]]",
	"Keep files, and the files below folders, in memory until a signal, or until COMMAND\n"
	"has ended. Refuses what could take the host down.",
	{ &hold_table },
};

int
main(int argc, char **argv)
{
	struct options opt = { .select = SELECT_ALL, .max = BUDGET_NO_SHARE, .quiet_time = QUIET };
	struct opts_group groups[] = { { select_options, &opt.select }, { options, &opt }, { 0 } };
	struct run run = {
		.options = &opt,
		.keeper = { .select = &opt.select,
		    .complain = complain,
		    .event = tell,
		    },
	};
	int status, first = opts_parse(&tool, groups, &opt.common, argc, argv, &status);
	char path[SPOOL_PATH];

	if (first < 0)
		return status;
	run.keeper.quiet_time = opt.quiet_time;
	split(&run, argc, argv, first);
	status = select_check(&opt.select, opt.common.format, run.keeper.operands,
	    run.keeper.count);
	if (status != STATUS_DONE)
		return status;
	if (run.command && !run.command[0])
		return opts_misuse("no command after --");
	stop_catch(opt.common.timeout);
	if (prepare(&run, path) < 0)
		return stop_status(STATUS_FAILED);
	if (out_open(&run.out, &hold_table, opt.common.format, opt.common.output,
		run.command ? stderr : stdout) < 0)
		return out_explain(&run.out);
	status = run_with(&run);
	out_close(&run.out);
	keeper_end(&run.keeper);
	return status;
}
