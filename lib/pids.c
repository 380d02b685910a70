/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pids.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "members.h"
#include "num.h"
#include "status.h"

#define FIELD(name) offsetof(struct pids_options, name)

/* A list of numbers, checked one by one. */
static int
store_pid(void *field, const char *argument)
{
	pid_t pid;

	return opts_pid(&pid, argument) < 0 ? -1 : opts_list(field, argument);
}

const struct opts_option pids_options[] = {
	{ 0, "pid", "PID", store_pid, FIELD(pids),
	    "files that a process has open or mapped; repeatable" },
	{ 0, "cgroup", "PATH", opts_list, FIELD(cgroups),
	    "those of all processes in a cgroup; repeatable" },
	{ 0, "all", NULL, opts_flag, FIELD(all), "those of all processes" },
	{ 0 },
};

bool
pids_asked(const struct pids_options *options)
{
	return options->all || options->pids.count || options->cgroups.count;
}

int
pids_check(const struct pids_options *options, const struct select *select, size_t count)
{
	bool nul = select->nul && !select->nul_output; /* else it is about what is written */
	const char *wrong = count     ? "a PATH"
	    : select->files_from      ? "--files-from"
	    : nul                     ? "--null"
	    : select->follow          ? "--follow"
	    : select->one_file_system ? "--one-file-system"
	    : select->count_links     ? "--count-links"
				      : NULL;

	if (wrong)
		return opts_misuse("%s does not go with the files of processes", wrong);
	if (options->all && (options->pids.count || options->cgroups.count))
		return opts_misuse("--all has the files of each --pid and --cgroup already");
	return STATUS_DONE;
}

static int
choose(struct pids *all, size_t *count, const char *kind, const char *name)
{
	struct pids *pids = &all[*count];

	if (asprintf(&pids->name, "%s%s", kind, name) < 0) {
		pids->name = NULL;
		return -1;
	}
	++*count;
	return 0;
}

struct pids *
pids_choose(const struct pids_options *options, size_t *count)
{
	const struct opts_words *numbers = &options->pids, *cgroups = &options->cgroups;
	struct pids *all = calloc(numbers->count + cgroups->count + 1, sizeof *all);
	int failed = all ? 0 : -1;

	*count = 0;
	for (size_t i = 0; !failed && i < numbers->count; i++) {
		opts_pid(&all[*count].pid, numbers->words[i]);
		failed = choose(all, count, "pid:", numbers->words[i]);
	}
	for (size_t i = 0; !failed && i < cgroups->count; i++) {
		all[*count].cgroup = cgroups->words[i];
		failed = choose(all, count, "cgroup:", cgroups->words[i]);
	}
	if (!failed && options->all)
		failed = choose(all, count, "all", "");
	if (!failed)
		return all;
	pids_free(all, *count);
	return NULL;
}

void
pids_free(struct pids *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(all[i].name);
	free(all);
}

static int
visit_all(void (*visit)(pid_t pid, void *argument), void *argument)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint64_t number;

	if (!proc)
		return -1;
	while ((entry = readdir(proc)))
		if (num_count(entry->d_name, &number) == 0)
			visit((pid_t)number, argument);
	closedir(proc);
	return 0;
}

int
pids_visit(const struct pids *pids, void (*visit)(pid_t pid, void *argument), void *argument)
{
	char path[32];

	if (pids->cgroup)
		return members_visit(pids->cgroup, visit, argument);
	if (!pids->pid)
		return visit_all(visit, argument);
	snprintf(path, sizeof path, "/proc/%d", (int)pids->pid);
	if (access(path, F_OK) < 0) {
		errno = ESRCH;
		return -1;
	}
	visit(pids->pid, argument);
	return 0;
}
