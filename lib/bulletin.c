/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bulletin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "patient.h"

static bool
has_file(const struct opts_common *common)
{
	return common->output && strcmp(common->output, "-") != 0;
}

static int
open_out(struct bulletin *bulletin)
{
	return out_open(&bulletin->out, bulletin->table, bulletin->common->format,
	    bulletin->common->output, bulletin->memory);
}

int
bulletin_open(struct bulletin *bulletin, const struct out_table *table,
    const struct opts_common *common, int fd)
{
	*bulletin = (struct bulletin){ .table = table, .common = common, .fd = fd };
	if (!has_file(common)) {
		bulletin->memory = open_memstream(&bulletin->text, &bulletin->length);
		if (!bulletin->memory)
			return -1;
	}
	return open_out(bulletin);
}

int
bulletin_begin(struct bulletin *bulletin)
{
	if (bulletin->memory) {
		rewind(bulletin->memory);
		return 0;
	}
	if (!bulletin->failed)
		return 0;
	/* what was begun is gone; and the file may be another by now */
	out_close(&bulletin->out);
	return open_out(bulletin);
}

/* Into the stream what is in memory. */
static int
send(struct bulletin *bulletin, uint64_t patience)
{
	size_t written = 0;
	int result = 0;

	/* what comes next begins a line */
	if (bulletin->cut)
		result = patient_write(bulletin->fd, "\n", 1, patience, NULL);
	if (result < 0)
		return -1;
	bulletin->cut = false;
	result = patient_write(bulletin->fd, bulletin->text, bulletin->length, patience, &written);
	bulletin->cut = result < 0 && written > 0;
	return result;
}

int
bulletin_end(struct bulletin *bulletin, int result, uint64_t patience)
{
	if (result == 0)
		result = out_commit(&bulletin->out);
	if (result == 0 && bulletin->memory)
		result = send(bulletin, patience);
	bulletin->failed = result < 0;
	if (bulletin->failed)
		bulletin->out.headed = false;
	return result;
}

const char *
bulletin_name(const struct bulletin *bulletin)
{
	return bulletin->memory ? "output" : bulletin->common->output;
}

void
bulletin_close(struct bulletin *bulletin)
{
	out_close(&bulletin->out);
	if (bulletin->memory)
		fclose(bulletin->memory);
	free(bulletin->text);
	*bulletin = (struct bulletin){ 0 };
}
