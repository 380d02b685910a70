/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "consult.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "inquiry.h"
#include "pidfile.h"
#include "status.h"

#define PATIENCE 5000000000ULL /* ns, where no time limit is given */

/* 0 and *HOLDER, or the exit status. */
static int
find_holder(const char *pidfile, pid_t *holder)
{
	*holder = pidfile_holder(pidfile);
	if (*holder > 0)
		return STATUS_DONE;
	if (*holder == 0 || errno == ENOENT) {
		diag_error("%s: nothing runs with this pid file%s", pidfile,
		    *holder == 0 ? ", which was left behind" : "");
		return STATUS_FAILED;
	}
	if (errno == EINVAL || errno == ELOOP)
		diag_error("%s: no pid file", pidfile);
	else
		diag_file(pidfile, errno);
	return STATUS_UNKNOWN;
}

static int
explain(const char *pidfile, pid_t holder)
{
	switch (errno) {
	case EACCES:
	case EPERM:
	case ECONNRESET:
		diag_error("%s: only root, and the user of process %ld, may ask it", pidfile,
		    (long)holder);
		break;
	case ETIMEDOUT:
		diag_error("%s: process %ld does not answer: it still brings files in, or hangs",
		    pidfile, (long)holder);
		break;
	case ENOENT:
	case ECONNREFUSED:
		diag_error("%s: process %ld has begun, or is ending, just now", pidfile,
		    (long)holder);
		break;
	case EPROTO:
		diag_error("%s: process %ld is not of this version of %s", pidfile, (long)holder,
		    diag_tool());
		break;
	default:
		diag_file(pidfile, errno);
	}
	return STATUS_UNKNOWN;
}

static int
copy(int from, struct out *out)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(from, buffer, sizeof buffer)) > 0)
		if (fwrite(buffer, 1, (size_t)n, out->stream) != (size_t)n)
			return -1;
	/* what was copied is a report with all that belongs to it */
	out->headed = true;
	return n < 0 ? -1 : out_commit(out);
}

int
consult(const char *pidfile, const struct out_table *table, const struct opts_common *common)
{
	uint64_t patience = common->timeout ? common->timeout : PATIENCE;
	pid_t holder;
	struct out out;
	int report, told, status = find_holder(pidfile, &holder);

	if (status != STATUS_DONE)
		return status;
	report = inquiry_ask(pidfile, common->format, patience, &told);
	if (report < 0)
		return explain(pidfile, holder);
	if (out_open(&out, table, common->format, common->output, stdout) < 0 ||
	    copy(report, &out) < 0)
		told = out_explain(&out);
	out_close(&out);
	close(report);
	return told;
}
