/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "twins.h"

#include <stdlib.h>
#include <string.h>

struct twins_entry {
	dev_t device;
	ino_t inode;
	bool done;
	int error;
};

int
twins_begin(struct twins *twins, size_t size, size_t result_size)
{
	*twins = (struct twins){ .size = size, .result_size = result_size };
	pthread_mutex_init(&twins->lock, NULL);
	pthread_cond_init(&twins->news, NULL);
	twins->list = calloc(size, sizeof *twins->list);
	twins->results = calloc(size, result_size);
	return twins->list && twins->results ? 0 : -1;
}

void
twins_free(struct twins *twins)
{
	free(twins->list);
	free(twins->results);
	*twins = (struct twins){ 0 };
}

/* The entry of a file; NULL where there is none, or none any more. The lock is held. */
static struct twins_entry *
find(const struct twins *twins, const struct stat *status)
{
	size_t count = twins->next < twins->size ? twins->next : twins->size;

	for (size_t i = 0; i < count; i++) {
		struct twins_entry *entry = &twins->list[i];

		if (entry->inode == status->st_ino && entry->device == status->st_dev)
			return entry;
	}
	return NULL;
}

static char *
result_of(const struct twins *twins, const struct twins_entry *entry)
{
	return twins->results + (size_t)(entry - twins->list) * twins->result_size;
}

bool
twins_claim(struct twins *twins, const struct stat *status)
{
	bool claimed;

	pthread_mutex_lock(&twins->lock);
	claimed = !find(twins, status);
	if (claimed)
		twins->list[twins->next++ % twins->size] =
		    (struct twins_entry){ .device = status->st_dev, .inode = status->st_ino };
	pthread_mutex_unlock(&twins->lock);
	return claimed;
}

void
twins_done(struct twins *twins, const struct stat *status, const void *result, int error)
{
	struct twins_entry *entry;

	pthread_mutex_lock(&twins->lock);
	entry = find(twins, status);
	if (entry) {
		memcpy(result_of(twins, entry), result, twins->result_size);
		entry->error = error;
		entry->done = true;
		pthread_cond_broadcast(&twins->news);
	}
	pthread_mutex_unlock(&twins->lock);
}

int
twins_take(struct twins *twins, const struct stat *status, void *result)
{
	struct twins_entry *entry;
	int error = 0;

	pthread_mutex_lock(&twins->lock);
	while ((entry = find(twins, status)) && !entry->done)
		pthread_cond_wait(&twins->news, &twins->lock);
	if (entry) {
		memcpy(result, result_of(twins, entry), twins->result_size);
		error = entry->error;
	}
	pthread_mutex_unlock(&twins->lock);
	return error;
}
