/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rangelist.h"

#include <string.h>
#include <unistd.h>

#include "esc.h"

bool
rangelist_holds(const char *path, bool nul)
{
	return nul || strchr(path, '\n') == NULL;
}

int
rangelist_write(FILE *stream, const struct ranges *ranges, const char *path, bool nul)
{
	bool escaped = !nul && isatty(fileno(stream));

	for (size_t i = 0; i < ranges->count && !ferror(stream); i++) {
		const struct num_range *range = &ranges->list[i];

		fprintf(stream, "%llu:%llu\t", (unsigned long long)range->offset,
		    (unsigned long long)range->length);
		if (escaped)
			esc_terminal(stream, path);
		else
			fputs(path, stream);
		fputc(nul ? '\0' : '\n', stream);
	}
	return ferror(stream) ? -1 : 0;
}
