/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
make_room(struct queue *queue)
{
	size_t size = queue->size ? 2 * queue->size : 64;
	struct queue_name *list;

	if (queue->count < queue->size)
		return true;
	/* what was taken from the front is used again, unless it is so little that this is slow */
	if (queue->next > queue->size / 2) {
		queue->count -= queue->next;
		memmove(queue->list, queue->list + queue->next, queue->count * sizeof *list);
		queue->next = 0;
		return true;
	}
	list = realloc(queue->list, size * sizeof *list);
	if (!list)
		return false;
	queue->list = list;
	queue->size = size;
	return true;
}

/* What is written to is told again and again. */
static bool
is_last(const struct queue *queue, uint32_t folder, const char *name)
{
	const struct queue_name *last;

	if (queue_is_empty(queue))
		return false;
	last = &queue->list[queue->count - 1];
	return last->folder == folder && strcmp(last->name, name) == 0;
}

bool
queue_add(struct queue *queue, struct roster *roster, uint32_t folder, const char *name)
{
	uint32_t number = roster_find(roster, folder, name);
	struct roster_file *file = number == ROSTER_NONE ? NULL : &roster->files[number];
	struct queue_name *next;

	if ((file && file->dirty) || is_last(queue, folder, name))
		return true;
	if (queue->count - queue->next >= QUEUE_MOST || !make_room(queue))
		return false;
	next = &queue->list[queue->count];
	if (asprintf(&next->name, "%s", name) < 0)
		return false;
	next->folder = folder;
	queue->count++;
	if (file)
		file->dirty = true;
	return true;
}

char *
queue_next(struct queue *queue, struct roster *roster, uint32_t *folder)
{
	struct queue_name *next;
	uint32_t number;

	if (queue_is_empty(queue))
		return NULL;
	next = &queue->list[queue->next++];
	*folder = next->folder;
	number = roster_find(roster, next->folder, next->name);
	if (number != ROSTER_NONE)
		roster->files[number].dirty = false;
	if (queue_is_empty(queue))
		queue->next = queue->count = 0;
	return next->name;
}

bool
queue_is_empty(const struct queue *queue)
{
	return queue->next == queue->count;
}

void
queue_free(struct queue *queue)
{
	while (!queue_is_empty(queue))
		free(queue->list[queue->next++].name);
	free(queue->list);
	*queue = (struct queue){ 0 };
}
