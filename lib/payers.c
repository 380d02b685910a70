/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "payers.h"

#include <errno.h>

#include "diag.h"
#include "residency.h"

struct look {
	struct residency residency;
	struct owners owners;
};

/* Tells what is lacking here, and what would mend it. */
static enum status
begin(void *self)
{
	struct payers *payers = self;

	switch (charges_open(&payers->charges)) {
	case CHARGES_OPEN:
		if (cgroupnames_open(&payers->groups, "") == 0)
			return STATUS_DONE;
		diag_error("--owner: no hierarchy of memory cgroups is mounted "
			   "(mount -t cgroup2 none /sys/fs/cgroup)");
		break;
	case CHARGES_KERNEL:
		diag_error("--owner: there is no /proc/kpagecgroup: it needs a kernel with "
			   "CONFIG_MEMCG and CONFIG_PROC_PAGE_MONITOR");
		break;
	case CHARGES_PRIVILEGE:
		diag_error("--owner: the kernel shows page frames only to root with CAP_SYS_ADMIN, "
			   "not of a user namespace");
		break;
	case CHARGES_UNREADABLE:
		diag_file("/proc/kpagecgroup", errno);
		break;
	}
	return STATUS_UNKNOWN;
}

static int
look_at(struct each_file *file, void *self)
{
	const struct payers *payers = self;
	struct look *look = file->result;

	if (look->residency.method == RESIDENCY_UNKNOWN)
		return 0;
	return charges_count(&payers->charges, file->fd, file->offset, file->length, &look->owners);
}

static void
release(void *result)
{
	struct look *look = result;

	owners_free(&look->owners);
}

static void
put(struct payers *payers, const char *path, struct owners *owners)
{
	struct report *report = payers->report;

	if (report_ready(report))
		report_keep(report, owners_report(owners, path, &payers->groups, &report->out));
}

static void
show_file(const struct each_file *file, const struct footprint *single, void *self)
{
	struct payers *payers = self;
	struct look *look = file->result;

	(void)single;
	if (file->error)
		return;
	report_keep(payers->report, owners_merge(&payers->current, &look->owners));
	if (report_has_row(payers->report, file->operand, file->path))
		put(payers, file->path, &look->owners);
}

static void
show_operand(const char *name, const struct footprint *sum, void *self)
{
	struct payers *payers = self;

	if (sum)
		put(payers, name, &payers->current);
	report_keep(payers->report, owners_merge(&payers->all, &payers->current));
	owners_free(&payers->current);
}

static void
show_total(const char *name, const struct footprint *all, void *self)
{
	struct payers *payers = self;

	(void)all;
	put(payers, name, &payers->all);
}

const struct view payers_view = {
	.table = &owners_table,
	.by_page = true,
	.result_size = sizeof(struct look),
	.begin = begin,
	.look = look_at,
	.release = release,
	.file = show_file,
	.operand = show_operand,
	.total = show_total,
};
