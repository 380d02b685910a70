/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bulletin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "patient.h"

int
bulletin_open(struct bulletin *bulletin, const struct out_table *table,
    const struct opts_common *common, int fd)
{
	const char *path = common->output;

	*bulletin = (struct bulletin){ .fd = fd };
	bulletin->memory = open_memstream(&bulletin->text, &bulletin->length);
	if (!bulletin->memory ||
	    out_open(&bulletin->out, table, common->format, NULL, bulletin->memory) < 0)
		return -1;
	if (!path || strcmp(path, "-") == 0)
		return 0;
	/* the first one is begun: where that cannot be, it is known before anything is done */
	return replace_init(&bulletin->file, path) < 0 ? -1 : replace_begin(&bulletin->file);
}

void
bulletin_begin(struct bulletin *bulletin)
{
	rewind(bulletin->memory);
	/* in a file it is the only one */
	if (bulletin->file.path)
		bulletin->out.headed = bulletin->out.again = false;
}

static int
write_stream(struct bulletin *bulletin, uint64_t patience)
{
	size_t written = 0;
	int result;

	/* what comes next begins a line */
	if (bulletin->cut && patient_write(bulletin->fd, "\n", 1, patience, NULL) < 0)
		return -1;
	result = patient_write(bulletin->fd, bulletin->text, bulletin->length, patience, &written);
	bulletin->cut = result < 0 && written > 0;
	return result;
}

static int
write_file(struct bulletin *bulletin, uint64_t patience)
{
	struct replace *file = &bulletin->file;
	int result = 0, error;

	if (!file->stream && replace_begin(file) < 0)
		return -1;
	if (file->temporary)
		fwrite(bulletin->text, 1, bulletin->length, file->stream); /* commit sees */
	else
		result = patient_write(file->fd, bulletin->text, bulletin->length, patience, NULL);
	error = errno;
	if (replace_commit(file) < 0)
		return -1;
	errno = error;
	return result;
}

int
bulletin_end(struct bulletin *bulletin, int result, uint64_t patience)
{
	if (result == 0)
		result = out_commit(&bulletin->out);
	if (result == 0)
		result = bulletin->file.path ? write_file(bulletin, patience)
					     : write_stream(bulletin, patience);
	bulletin->failed = result < 0;
	if (bulletin->failed)
		bulletin->out.headed = false;
	return result;
}

int
bulletin_explain(const struct bulletin *bulletin)
{
	return out_explain(&(struct out){ .file = bulletin->file });
}

const char *
bulletin_name(const struct bulletin *bulletin)
{
	return bulletin->file.path ? bulletin->file.path : "output";
}

void
bulletin_close(struct bulletin *bulletin)
{
	out_close(&bulletin->out);
	replace_drop(&bulletin->file);
	if (bulletin->memory)
		fclose(bulletin->memory);
	free(bulletin->text);
	*bulletin = (struct bulletin){ 0 };
}
