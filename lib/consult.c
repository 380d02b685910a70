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

static void
explain_access(const char *pidfile)
{
	diag_error("%s: only root, and the user of the process that runs with it, may ask it",
	    pidfile);
}

/* 0 and *HOLDER, or the exit status. */
static int
find_holder(const char *pidfile, struct pidfile_holder *holder)
{
	int found = pidfile_find(pidfile, holder);

	if (found > 0)
		return STATUS_DONE;
	if (found == 0 || errno == ENOENT) {
		diag_error("%s: nothing runs with this pid file%s", pidfile,
		    found == 0 ? ", which was left behind" : "");
		return STATUS_FAILED;
	}
	if (errno == EINVAL || errno == ELOOP)
		diag_error("%s: no pid file", pidfile);
	else if (errno == EAGAIN)
		diag_error("%s: its process has begun just now", pidfile);
	else if (errno == EACCES)
		explain_access(pidfile);
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
		explain_access(pidfile);
		break;
	case ETIMEDOUT:
		diag_error("%s: process %ld does not answer: it is busy, or hangs; --timeout says "
			   "how long it is waited for",
		    pidfile, (long)holder);
		break;
	case ENOENT:
	case ECONNREFUSED:
		diag_error("%s: process %ld has begun, or is ending, just now, or cannot be asked",
		    pidfile, (long)holder);
		break;
	case EBADE:
		diag_error("%s" INQUIRY_SUFFIX
			   ": it is not process %ld that listens there, or it is "
			   "another user's: what it says is not believed",
		    pidfile, (long)holder);
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
	struct pidfile_holder holder;
	struct out out;
	int report, told, status = find_holder(pidfile, &holder);

	if (status != STATUS_DONE)
		return status;
	report = inquiry_ask(pidfile, &holder, common->format, patience, &told);
	if (report < 0)
		return explain(pidfile, holder.pid);
	if (out_open(&out, table, common->format, common->output, stdout) < 0 ||
	    copy(report, &out) < 0)
		told = out_explain(&out);
	out_close(&out);
	close(report);
	return told;
}
