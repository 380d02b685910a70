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
	    batch->parts_count >= BATCH_PARTS ||
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

static int
add_parts(struct batch *batch, const struct num_range *parts, size_t count)
{
	size_t needed = batch->parts_count + count;

	if (needed > batch->parts_size) {
		struct num_range *larger = realloc(batch->parts, 2 * needed * sizeof *larger);

		if (!larger)
			return -1;
		batch->parts = larger;
		batch->parts_size = 2 * needed;
	}
	if (count)
		memcpy(batch->parts + batch->parts_count, parts, count * sizeof *parts);
	batch->parts_count = needed;
	return 0;
}

/* The note of the item that is about to be added. */
static const void *
copy_note(struct batch *batch, const void *note)
{
	return note
	    ? memcpy(batch->notes + batch->job.count * batch->note_size, note, batch->note_size)
	    : NULL;
}

int
batch_add(struct batch *batch, enum batch_kind kind, const struct walk_entry *entry, size_t number,
    bool operand)
{
	batch->items[batch->job.count] = (struct batch_item){
		.file = { .operand = number,
		    .depth = entry->depth,
		    .fd = -1,
		    .part_count = entry->part_count,
		    .note = copy_note(batch, entry->note),
		    .error = entry->error },
		.kind = kind,
		.path = batch->names_length,
		.name = batch->names_length + entry->name,
		.part = batch->parts_count,
		.folder = entry->folder,
		.operand = operand,
	};
	if (add_name(batch, entry->path, entry->length) < 0 ||
	    add_parts(batch, entry->parts, entry->part_count) < 0)
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
		struct batch_item *item = &batch->items[i];

		item->file.path = batch->names + item->path;
		item->file.result = batch->results + i * result_size;
		if (item->file.part_count)
			item->file.parts = batch->parts + item->part;
	}
}

void
batch_clear(struct batch *batch)
{
	while (batch->folders_count)
		folder_release(batch->folders[--batch->folders_count]);
	batch->job.count = 0;
	batch->names_length = batch->parts_count = 0;
	if (batch->parts_size > 4 * BATCH_PARTS) {
		free(batch->parts);
		batch->parts = NULL;
		batch->parts_size = 0;
	}
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
	free(batch->parts);
}
