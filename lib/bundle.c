/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "device.h"
#include "extent.h"
#include "residency.h"
#include "stop.h"

/* Larger ones are read alone as fast. */
#define LARGEST (1U << 20)
#define PIECE   (64U << 10)

/* How it goes with a file. */
enum state {
	ALONE, /* cannot be loaded here: it is left to preload_range */
	DONE,  /* all in memory already, or not admitted */
	COLD,  /* nothing of it is in memory */
	ASKED, /* for all of it */
};

struct bundle {
	const struct bundle_file *files;
	size_t count;
	const struct preload_hooks *hooks;
	enum state states[BUNDLE_FILES];
	size_t order[BUNDLE_FILES]; /* in which they are asked for */
};

bool
bundle_takes(int fd, const struct stat *status, uint64_t offset, uint64_t length)
{
	return S_ISREG(status->st_mode) && offset == 0 && length > 0 && length <= LARGEST &&
	    length == (uint64_t)status->st_size && length <= device_of(fd, status).call;
}

static uint64_t
size_of(const struct bundle *bundle, size_t i)
{
	return (uint64_t)bundle->files[i].status->st_size;
}

/* Whether another name of the file is in the bundle already: both would seem to bring it in. */
static bool
is_twin(const struct bundle *bundle, size_t i)
{
	const struct stat *status = bundle->files[i].status;

	for (size_t j = 0; j < i && status->st_nlink > 1; j++)
		if (bundle->files[j].status->st_ino == status->st_ino &&
		    bundle->files[j].status->st_dev == status->st_dev)
			return true;
	return false;
}

/*
 * As the files lie on the disk, since reads of neighbours that follow each other become one.
 * Numbers of inodes tell roughly where, for nothing; a disk that seeks is worth a question.
 */
static void
choose_order(struct bundle *bundle)
{
	bool seeks = device_of(bundle->files[0].fd, bundle->files[0].status).seeks;
	uint64_t on_disk[BUNDLE_FILES];

	for (size_t i = 0, at; i < bundle->count; i++) {
		on_disk[i] = seeks ? extent_first(bundle->files[i].fd)
				   : bundle->files[i].status->st_ino;
		for (at = i; at > 0 && on_disk[bundle->order[at - 1]] > on_disk[i]; at--)
			bundle->order[at] = bundle->order[at - 1];
		bundle->order[at] = i;
	}
}

/* Whether all pages of FILE are in memory. What cachestat counts may be on its way still, which
 * mincore sees, or what has been READ as a whole. */
static bool
is_all_in(const struct bundle_file *file, const struct residency *seen, bool read)
{
	struct residency proof;

	if (seen->resident < seen->pages)
		return false;
	if (seen->method == RESIDENCY_MINCORE || read)
		return true;
	residency_prove(file->fd, file->status, 0, (uint64_t)file->status->st_size, &proof);
	return proof.resident == proof.pages;
}

/* All or nothing: where a part is in memory, it is looked for page by page elsewhere. */
static enum state
look_at(const struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	struct residency seen;

	if (is_twin(bundle, i))
		return ALONE;
	residency_query(file->fd, file->status, 0, size_of(bundle, i), &seen);
	if (seen.method == RESIDENCY_UNKNOWN)
		return ALONE;
	if (seen.resident == 0)
		return COLD;
	if (!is_all_in(file, &seen, false))
		return ALONE;
	file->result->already = file->result->resident = size_of(bundle, i);
	return DONE;
}

/* Whether a file that is not in memory shall be asked for. */
static bool
admit(const struct bundle *bundle, size_t i)
{
	const struct preload_hooks *hooks = bundle->hooks;

	if (!hooks->admit || hooks->admit(size_of(bundle, i), hooks->argument))
		return true;
	bundle->files[i].result->skipped = size_of(bundle, i);
	return false;
}

/* Bytes of the files that shall be asked for. */
static uint64_t
choose_files(struct bundle *bundle)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < bundle->count; i++) {
		bundle->states[i] = look_at(bundle, i);
		if (bundle->states[i] != COLD)
			continue;
		if (admit(bundle, i))
			bytes += size_of(bundle, i);
		else
			bundle->states[i] = DONE;
	}
	return bytes;
}

/* Has the kernel bring in all of a file; what it cannot do, reading does. */
static void
ask_for(const struct bundle_file *file)
{
	residency_hide(file->fd);
	readahead(file->fd, 0, (size_t)file->status->st_size);
}

/* Asks for all that is wanted, and waits for none. */
static void
ask(struct bundle *bundle)
{
	const struct preload_hooks *hooks = bundle->hooks;
	uint64_t bytes = choose_files(bundle);

	if (bytes && hooks->wait && !hooks->wait(bytes, hooks->argument))
		return; /* it is not the time to */
	for (size_t at = 0; at < bundle->count; at++) {
		size_t i = bundle->order[at];

		if (bundle->states[i] != COLD)
			continue;
		ask_for(&bundle->files[i]);
		bundle->states[i] = ASKED;
	}
}

/* Reading a file waits until it has come, and shows that all of it did. Returns the bytes that it
 * gave: fewer where it is shorter by now, or something failed. */
static uint64_t
read_all(const struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	uint64_t size = size_of(bundle, i), at = 0;
	char buffer[PIECE];

	while (at < size && !stop_asked()) {
		ssize_t n = pread(file->fd, buffer, PIECE, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			file->result->error = errno;
		if (n <= 0)
			break;
		at += (uint64_t)n;
	}
	return at < size ? at : size;
}

/* A file that was asked for. What did not come as a whole is measured, and read alone. */
static void
receive(const struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	const struct preload_hooks *hooks = bundle->hooks;
	uint64_t size = size_of(bundle, i), got = read_all(bundle, i);
	struct residency seen;

	file->result->read = got;
	if (got && hooks->asked)
		hooks->asked(got, hooks->argument);
	residency_query(file->fd, file->status, 0, size, &seen);
	if (is_all_in(file, &seen, got == size))
		file->result->resident = size;
	else if (!file->result->error && !stop_asked())
		preload_rest(file->fd, file->status, hooks, file->result);
}

/* Some of the files, which are no more than BUNDLE_IN_FLIGHT. */
static void
load_some(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks)
{
	struct bundle bundle = { .files = files, .count = count, .hooks = hooks };

	choose_order(&bundle);
	ask(&bundle);
	for (size_t at = 0; at < count; at++)
		if (bundle.states[bundle.order[at]] == ASKED)
			receive(&bundle, bundle.order[at]);
	for (size_t i = 0; i < count; i++)
		if (bundle.states[i] == ALONE)
			preload_range(files[i].fd, files[i].status, 0, size_of(&bundle, i), hooks,
			    files[i].result);
}

void
bundle_load(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks)
{
	uint64_t most = hooks->chunk && hooks->chunk < BUNDLE_IN_FLIGHT ? hooks->chunk
									: BUNDLE_IN_FLIGHT;
	uint64_t bytes = 0;
	size_t first = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t size = (uint64_t)files[i].status->st_size;

		*files[i].result = (struct preload){ .why = RESIDENCY_KNOWN };
		if (first < i && bytes + size > most) {
			load_some(files + first, i - first, hooks);
			first = i;
			bytes = 0;
		}
		bytes += size;
	}
	load_some(files + first, count - first, hooks);
}

void
bundle_read(const struct bundle_file *files, size_t count)
{
	struct bundle bundle = { .files = files, .count = count };

	choose_order(&bundle);
	for (size_t at = 0; at < count; at++)
		ask_for(&files[bundle.order[at]]);
	for (size_t at = 0; at < count; at++) {
		struct preload *result = files[bundle.order[at]].result;

		*result = (struct preload){ .why = RESIDENCY_KNOWN };
		result->read = read_all(&bundle, bundle.order[at]);
	}
}
