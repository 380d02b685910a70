/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_QUEUE_H
#define HOTSET_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roster.h"

/* Names that are to be opened again, in the order in which that became known, each once if it is
 * in the roster. A zeroed struct is empty. */

#define QUEUE_MOST 65536 /* that wait; of more, it is simpler to look again */

struct queue {
	struct queue_name {
		uint32_t folder;
		char *name;
	} * list;
	size_t next, count, size;
};

/* NAME in FOLDER, unless it waits already; false where it cannot be kept: too many are, or there
 * is no memory. */
bool queue_add(struct queue *queue, struct roster *roster, uint32_t folder, const char *name);

/* The next one, to be freed, and its folder; NULL where there is none. */
char *queue_next(struct queue *queue, struct roster *roster, uint32_t *folder);

bool queue_is_empty(const struct queue *queue);
void queue_free(struct queue *queue);

#endif
