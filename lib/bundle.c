/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "extent.h"
#include "residency.h"
#include "stop.h"

/* Larger ones are read alone as fast. */
#define LARGEST    (1U << 20)
#define IN_FLIGHT  (8U << 20) /* bytes asked for at once, of all files */
#define SMALL_PAGE 4096

/* A file's place in the area. */
struct place {
	size_t first, pages; /* one more is mapped: see is_told */
	uint64_t missing;    /* bytes, when last looked at */
	size_t last;         /* of the pages that are missing */
	bool asked;          /* what was missing was admitted, and asked for */
	bool alone;          /* cannot be loaded here */
};

struct bundle {
	const struct bundle_file *files;
	size_t count;
	const struct preload_hooks *hooks;
	size_t page; /* bytes in one */
	char *area;
	size_t pages;
	struct place places[BUNDLE_FILES];
	size_t order[BUNDLE_FILES]; /* of the files in the area */
	unsigned char seen[IN_FLIGHT / SMALL_PAGE + 2 * BUNDLE_FILES];
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

/* Of a page of a file, the bytes that are the file's. */
static uint64_t
bytes_of(const struct bundle *bundle, size_t i, size_t page)
{
	uint64_t left = size_of(bundle, i) - page * bundle->page;

	return left < bundle->page ? left : bundle->page;
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

/* Maps file NUMBER at its place, where it shall be looked at. */
static bool
map_file(const struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	const struct place *place = &bundle->places[i];

	if (is_twin(bundle, i) || !residency_is_cached(file->fd, file->status))
		return false;
	residency_hide(file->fd);
	return mmap(bundle->area + place->first * bundle->page, (place->pages + 1) * bundle->page,
		   PROT_READ, MAP_SHARED | MAP_FIXED, file->fd, 0) != MAP_FAILED;
}

/*
 * As the files lie on the disk, since the device is asked in the order of the area, and reads of
 * neighbours that follow each other become one. Numbers of inodes tell roughly where, for nothing;
 * a disk that seeks is worth a question.
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

/* Reserves the area, and maps the files there; false where there is none. */
static bool
map_files(struct bundle *bundle)
{
	choose_order(bundle);
	for (size_t i = 0; i < bundle->count; i++) {
		struct place *place = &bundle->places[bundle->order[i]];

		place->first = bundle->pages;
		place->pages = residency_pages(0, size_of(bundle, bundle->order[i]));
		bundle->pages += place->pages + 1;
	}
	bundle->area = mmap(NULL, bundle->pages * bundle->page, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bundle->area == MAP_FAILED)
		return false;
	for (size_t i = 0; i < bundle->count; i++)
		bundle->places[i].alone = !map_file(bundle, i);
	return true;
}

static void
look_at(struct bundle *bundle, size_t i)
{
	struct place *place = &bundle->places[i];

	place->missing = 0;
	for (size_t page = 0; page < place->pages; page++) {
		if (bundle->seen[place->first + page] & 1)
			continue;
		place->missing += bytes_of(bundle, i, page);
		place->last = page;
	}
}

/* What is missing of each file; false where the kernel does not say. */
static bool
look(struct bundle *bundle)
{
	if (mincore(bundle->area, bundle->pages * bundle->page, bundle->seen) < 0)
		return false;
	for (size_t i = 0; i < bundle->count; i++)
		look_at(bundle, i);
	return true;
}

/*
 * Whether the kernel tells us of this file: since Linux 5.2 it says of the files of others that
 * each page is in memory, also the one behind the end.
 */
static bool
is_told(const struct bundle *bundle, size_t i)
{
	const struct place *place = &bundle->places[i];

	return !(bundle->seen[place->first + place->pages] & 1);
}

/* A file that looks as if it were all there, as it does to who may not know; or its last folio
 * reaches beyond the end. */
static void
check_whole(struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	struct residency proof;

	residency_prove(file->fd, file->status, 0, 1, &proof);
	if (proof.method == RESIDENCY_UNKNOWN)
		bundle->places[i].alone = true;
	else
		file->result->already = file->result->resident = size_of(bundle, i);
}

/* Whether what is missing of a file shall be asked for. */
static bool
admit(struct bundle *bundle, size_t i)
{
	const struct preload_hooks *hooks = bundle->hooks;
	const struct place *place = &bundle->places[i];
	struct preload *result = bundle->files[i].result;

	if (place->alone)
		return false;
	result->already = result->resident = size_of(bundle, i) - place->missing;
	if (place->missing == 0) {
		if (!is_told(bundle, i))
			check_whole(bundle, i);
		return false;
	}
	if (!hooks->admit || hooks->admit(place->missing, hooks->argument))
		return true;
	result->skipped = place->missing;
	return false;
}

/* Asks for what is in the area from page FIRST up to END, all at once. */
static void
ask(const struct bundle *bundle, size_t first, size_t end)
{
	/* what it cannot do is seen afterwards */
	if (first < end)
		madvise(bundle->area + first * bundle->page, (end - first) * bundle->page,
		    MADV_WILLNEED);
}

/* Which files are asked for: none, where it is not the time to. */
static void
choose_files(struct bundle *bundle)
{
	const struct preload_hooks *hooks = bundle->hooks;
	uint64_t bytes = 0;

	for (size_t i = 0; i < bundle->count; i++) {
		bundle->places[i].asked = admit(bundle, i);
		if (bundle->places[i].asked)
			bytes += bundle->places[i].missing;
	}
	if (bytes && hooks->wait && !hooks->wait(bytes, hooks->argument))
		for (size_t i = 0; i < bundle->count; i++)
			bundle->places[i].asked = false;
}

static void
ask_for_missing(struct bundle *bundle)
{
	size_t first = 0;

	choose_files(bundle);
	for (size_t i = 0; i < bundle->count; i++) {
		const struct place *place = &bundle->places[bundle->order[i]];

		if (place->asked)
			continue;
		ask(bundle, first, place->first);
		first = place->first + place->pages + 1;
	}
	ask(bundle, first, bundle->pages);
}

/* Reading a byte of a page waits until all of it has come, and tells what failed. */
static void
wait_for(const struct bundle *bundle, size_t i)
{
	const struct bundle_file *file = &bundle->files[i];
	char byte;
	ssize_t n;

	do
		n = pread(file->fd, &byte, 1, (off_t)(bundle->places[i].last * bundle->page));
	while (n < 0 && errno == EINTR && !stop_asked());
	if (n < 0)
		file->result->error = errno;
}

/* What came counts as read; what did not is read alone. */
static void
finish(struct bundle *bundle, size_t i, uint64_t missing_before)
{
	const struct bundle_file *file = &bundle->files[i];
	const struct preload_hooks *hooks = bundle->hooks;
	struct preload *result = file->result;
	uint64_t missing = bundle->places[i].missing;

	if (missing < missing_before)
		result->read = missing_before - missing;
	result->resident = size_of(bundle, i) - missing;
	if (result->read && hooks->asked)
		hooks->asked(result->read, hooks->argument);
	if (missing && !result->error && !stop_asked())
		preload_rest(file->fd, file->status, hooks, result);
}

/* After asking: waits for all, looks again, and loads what is still missing. */
static void
finish_all(struct bundle *bundle)
{
	uint64_t before[BUNDLE_FILES];
	bool looked;

	for (size_t i = 0; i < bundle->count; i++) {
		before[i] = bundle->places[i].missing;
		if (bundle->places[i].asked)
			wait_for(bundle, i);
	}
	looked = look(bundle);
	for (size_t i = 0; i < bundle->count; i++) {
		if (!bundle->places[i].asked)
			continue;
		if (looked)
			finish(bundle, i, before[i]);
		else
			preload_rest(bundle->files[i].fd, bundle->files[i].status, bundle->hooks,
			    bundle->files[i].result);
	}
}

/* Some of the files, which are no more than IN_FLIGHT. */
static void
load_some(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks)
{
	struct bundle bundle = { .files = files, .count = count, .hooks = hooks };
	bool mapped, looked;

	bundle.page = (size_t)residency_page_size();
	mapped = map_files(&bundle);
	looked = mapped && look(&bundle);
	if (looked) {
		ask_for_missing(&bundle);
		finish_all(&bundle);
	}
	if (mapped)
		munmap(bundle.area, bundle.pages * bundle.page);
	for (size_t i = 0; i < count; i++)
		if (!looked || bundle.places[i].alone)
			preload_range(files[i].fd, files[i].status, 0, size_of(&bundle, i), hooks,
			    files[i].result);
}

void
bundle_load(const struct bundle_file *files, size_t count, const struct preload_hooks *hooks)
{
	uint64_t most = hooks->chunk && hooks->chunk < IN_FLIGHT ? hooks->chunk : IN_FLIGHT;
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
