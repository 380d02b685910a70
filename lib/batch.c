/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* The last of a batch's folders is the one that the walk is in. */
static bool
holds(const struct batch *batch, const struct folder *folder)
{
	return !folder ||
	    (batch->folders_count && batch->folders[batch->folders_count - 1] == folder);
}

bool
batch_is_full(const struct batch *batch, const struct folder *folder)
{
	return batch->job.count == BATCH_ITEMS || batch->names_length >= BATCH_NAMES ||
	    (batch->folders_count == BATCH_FOLDERS && !holds(batch, folder));
}

static int
add_name(struct batch *batch, const char *name, size_t length)
{
	size_t needed = batch->names_length + length + 1;

	if (needed > batch->names_size) {
		char *names = realloc(batch->names, 2 * needed);

		if (!names)
			return -1;
		batch->names = names;
		batch->names_size = 2 * needed;
	}
	memcpy(batch->names + batch->names_length, name, length);
	batch->names[needed - 1] = '\0';
	batch->names_length = needed;
	return 0;
}

int
batch_add(struct batch *batch, enum batch_kind kind, const struct walk_entry *entry, size_t number,
    bool operand)
{
	batch->items[batch->job.count] = (struct batch_item){
		.file = { .operand = number,
		    .depth = entry->depth,
		    .fd = -1,
		    .error = entry->error },
		.kind = kind,
		.path = batch->names_length,
		.name = batch->names_length + entry->name,
		.folder = entry->folder,
		.operand = operand,
	};
	if (add_name(batch, entry->path, entry->length) < 0)
		return -1;
	if (!holds(batch, entry->folder))
		batch->folders[batch->folders_count++] = folder_hold(entry->folder);
	batch->job.count++;
	return 0;
}

void
batch_close(struct batch *batch, size_t result_size)
{
	for (size_t i = 0; i < batch->job.count; i++) {
		batch->items[i].file.path = batch->names + batch->items[i].path;
		batch->items[i].file.result = batch->results + i * result_size;
	}
}

void
batch_clear(struct batch *batch)
{
	while (batch->folders_count)
		folder_release(batch->folders[--batch->folders_count]);
	batch->job.count = 0;
	batch->names_length = 0;
	if (batch->names_size > 4 * BATCH_NAMES) {
		free(batch->names);
		batch->names = NULL;
		batch->names_size = 0;
	}
}

void
batch_free(struct batch *batch)
{
	batch_clear(batch);
	free(batch->names);
}
