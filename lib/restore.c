/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "restore.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "hash.h"
#include "num.h"
#include "stop.h"
#include "walk.h"

#define BYTES(n) num_human(n, (char[NUM_HUMAN]){ 0 })

/* Of more heats than this, the coldest come together: a snapshot is read once for each. */
#define PASSES 16

/* What a file was counted as. */
enum {
	SUPERSEDED = 1, /* its path comes again */
	OPENED = 2,
	FAILED = 4,
	SKIPPED = 8,
	GONE = 16,
	LEFT = 32,
	ALTERED = 64,
	SHORT = 128,
};

/* What goes with a file to a worker and back. */
struct note {
	uint64_t number;           /* of the file in the snapshot */
	uint64_t bytes;            /* of these parts */
	bool first;                /* these are its hottest */
	struct snapshot_file then; /* without path and ranges */
};

int
restore_parse_changed(const char *word, enum restore_changed *changed)
{
	static const char *const words[] = { [RESTORE_SKIP] = "skip",
		[RESTORE_RANGES] = "ranges",
		[RESTORE_WHOLE] = "whole" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i]) == 0) {
			*changed = (enum restore_changed)i;
			return 0;
		}
	errno = EINVAL;
	return -1;
}

/* What is not known to be warm is taken for cold. */
static int
heat_of(const struct snapshot_range *range)
{
	return range->heat > 0 ? range->heat : 0;
}

/* The path of a file, in short. */
struct seen {
	uint64_t hash, number;
};

struct all_seen {
	struct hash_key key;
	struct seen *list;
	uint64_t count, size;
};

static int
see(struct all_seen *all, const char *path)
{
	if (all->count == all->size) {
		uint64_t size = all->size ? 2 * all->size : 1024;
		struct seen *larger = reallocarray(all->list, size, sizeof *larger);

		if (!larger)
			return -1;
		all->list = larger;
		all->size = size;
	}
	all->list[all->count] = (struct seen){ hash_of(&all->key, path, strlen(path)), all->count };
	all->count++;
	return 0;
}

static int
by_hash(const void *a, const void *b)
{
	const struct seen *one = a, *other = b;

	if (one->hash != other->hash)
		return one->hash > other->hash ? 1 : -1;
	return (one->number > other->number) - (one->number < other->number);
}

/* Of a path that comes twice, what comes last counts. */
static void
mark_superseded(struct restore *restore, struct all_seen *all)
{
	if (all->count)
		qsort(all->list, all->count, sizeof *all->list, by_hash);
	for (uint64_t i = 1; i < all->count; i++)
		if (all->list[i - 1].hash == all->list[i].hash)
			restore->states[all->list[i - 1].number] = SUPERSEDED;
}

/* Reads it to its end: 0, or -1 as snapshot_next. */
static int
check(struct restore *restore, struct all_seen *all)
{
	struct snapshot_reader *reader = &restore->reader;
	int got;

	while ((got = snapshot_next(reader)) > 0) {
		if (stop_asked()) {
			errno = EINTR;
			return -1;
		}
		if (!all->count)
			strcpy(restore->first, reader->file.path);
		if (see(all, reader->file.path) < 0)
			return -1;
		for (size_t i = 0; i < reader->file.ranges.count; i++)
			if (heat_of(&reader->file.ranges.list[i]) > restore->hottest)
				restore->hottest = heat_of(&reader->file.ranges.list[i]);
	}
	restore->files = all->count;
	if (got < 0)
		return -1;
	restore->states = calloc(restore->files + 1, 1);
	return restore->states ? 0 : -1;
}

int
restore_begin(struct restore *restore)
{
	struct snapshot_reader *reader = &restore->reader;
	struct all_seen all = { 0 };
	struct stat status;
	int result = -1;

	/* one that is no regular file cannot be read twice, and might be waited for for ever */
	if (stat(restore->path, &status) == 0 && !S_ISREG(status.st_mode)) {
		diag_error("%s: not a regular file: a snapshot is read several times",
		    restore->path);
		return STATUS_FAILED;
	}
	hash_begin(&all.key);
	if (snapshot_open(reader, restore->path) == 0)
		result = check(restore, &all);
	if (result == 0)
		mark_superseded(restore, &all);
	else if (!stop_asked())
		snapshot_explain(reader, restore->path);
	else if (stop_asked() == SIGALRM)
		diag_error("%s: not read within the time allowed (--timeout)", restore->path);
	free(all.list);
	return result < 0 ? stop_status(STATUS_FAILED) : STATUS_DONE;
}

/* The parts of the file at hand from heat LEAST up to MOST. Returns the heat of its hottest. */
static int
choose(struct restore *restore, int least, int most, uint64_t *bytes)
{
	const struct snapshot_ranges *ranges = &restore->reader.file.ranges;
	int hottest = 0;

	restore->parts.count = 0;
	*bytes = 0;
	for (size_t i = 0; i < ranges->count; i++) {
		const struct snapshot_range *range = &ranges->list[i];
		int heat = heat_of(range);

		if (heat > hottest)
			hottest = heat;
		if (heat < least || heat > most)
			continue;
		if (ranges_add(&restore->parts, range->offset, range->length) < 0)
			return -1;
		*bytes += range->length;
	}
	return hottest;
}

/* The file at hand, as far as it is that hot. -1 with ENOMEM. */
static int
find_file(struct restore *restore, struct each_run *run, uint64_t number, int least, int most)
{
	struct note note = { .number = number, .then = restore->reader.file };
	int hottest = choose(restore, least, most, &note.bytes);

	if (hottest < 0)
		return -1;
	if (restore->parts.count == 0)
		return 0;
	note.first = hottest <= most;
	note.then.path = NULL;
	note.then.ranges = (struct snapshot_ranges){ 0 };
	each_named(run,
	    &(struct walk_entry){ .path = restore->reader.file.path,
		.length = strlen(restore->reader.file.path),
		.parts = restore->parts.list,
		.part_count = restore->parts.count,
		.note = &note });
	return 0;
}

/* The hottest of what is colder than LEAST, or -1. */
static int
colder(const struct snapshot_ranges *ranges, int least, int next)
{
	for (size_t i = 0; i < ranges->count; i++) {
		int heat = heat_of(&ranges->list[i]);

		if (heat < least && heat > next)
			next = heat;
	}
	return next;
}

/* All that is of a heat from LEAST up to MOST. *NEXT: the next heat below, -1 for none. Returns 1,
 * 0 at a stop, -1 as snapshot_next. */
static int
pass(struct restore *restore, struct each_run *run, int least, int most, int *next)
{
	struct snapshot_reader *reader = &restore->reader;
	int got = snapshot_again(reader);

	*next = -1;
	for (uint64_t number = 0; got == 0; number++) {
		got = snapshot_next(reader);
		if (got < 0)
			return -1;
		if (got == 0)
			return 1;
		if (number == restore->files) {
			reader->wrong = "it was not there a moment ago";
			errno = EBADMSG;
			return -1;
		}
		got = 0;
		if (!each_go_on(run))
			return 0;
		if (restore->states[number] & SUPERSEDED)
			continue;
		*next = colder(&reader->file.ranges, least, *next);
		got = find_file(restore, run, number, least, most);
	}
	return -1;
}

static void
find(struct each_run *run, void *self)
{
	struct restore *restore = self;
	int most = restore->hottest, got = 1;

	for (int passes = 1; most >= 0 && got > 0; passes++) {
		int next;

		got = pass(restore, run, passes < PASSES ? most : 0, most, &next);
		most = next;
		each_cut(run);
	}
	if (got < 0) {
		snapshot_explain(&restore->reader, restore->path);
		restore->broken = true;
	}
}

static bool
is_same(const struct snapshot_file *then, const struct stat *status)
{
	struct snapshot_file now;

	snapshot_identify(&now, status);
	/* the device may have another number after a boot */
	return now.inode == then->inode && now.size == then->size && now.seconds == then->seconds &&
	    now.nanoseconds == then->nanoseconds;
}

static void
look(struct each_file *file, void *self)
{
	const struct restore *restore = self;
	const struct note *note = file->note;

	if (is_same(&note->then, &file->status) || restore->changed == RESTORE_RANGES)
		return;
	if (restore->changed == RESTORE_SKIP || !note->first) {
		file->error = ESTALE;
		return;
	}
	file->parts = NULL;
	file->offset = 0;
	file->length = (uint64_t)file->status.st_size;
}

/* Whether the file of STATE has FLAG for the first time. */
static bool
is_news(unsigned char *state, unsigned char flag)
{
	bool news = !(*state & flag);

	*state |= flag;
	return news;
}

static void
add(struct restore_sum *sum, const struct each_file *file, unsigned char *state, unsigned char flag,
    const char *what)
{
	const struct note *note = file->note;

	sum->bytes += note->bytes;
	if (!is_news(state, flag))
		return;
	sum->files++;
	diag_detail("%s: %s", file->path, what);
}

/* Leaves in SINGLE what an earlier pass has not counted of the file. */
static void
count_once(struct tally *single, unsigned char *state)
{
	if (single->outcome.files && !is_news(state, OPENED))
		single->outcome.files = 0;
	if (single->outcome.failed && !is_news(state, FAILED))
		single->outcome.failed = single->outcome.hidden = single->outcome.elsewhere = 0;
	if (single->skipped_files && !is_news(state, SKIPPED))
		single->skipped_files = 0;
	if (single->short_files && !is_news(state, SHORT))
		single->short_files = 0;
}

/* Whether what failed is that the file is gone, or another; adds it up. */
static bool
is_explained(struct restore *restore, const struct each_file *file, unsigned char *state)
{
	switch (file->error) {
	case ENOENT:
	case ENOTDIR:
		add(&restore->gone, file, state, GONE, "gone since the snapshot");
		return true;
	case ESTALE:
	case EISDIR:
	case ESPIPE:
		add(&restore->left, file, state, LEFT, "changed since the snapshot");
		return true;
	default:
		return false;
	}
}

static bool
count(const struct each_file *file, struct tally *single, void *self)
{
	struct restore *restore = self;
	const struct note *note = file->note;
	bool started = single->outcome.files > 0, tell = true;
	unsigned char *state;

	if (!note)
		return true;
	state = &restore->states[note->number];
	if (restore->changed == RESTORE_WHOLE && (*state & ALTERED)) {
		*single = (struct tally){ 0 }; /* all of it came with its hottest parts */
		return false;
	}
	if (!started && is_explained(restore, file, state))
		tell = false;
	else if (started && !is_same(&note->then, &file->status))
		add(&restore->altered, file, state, ALTERED, "changed since the snapshot");
	count_once(single, state);
	return tell && (single->outcome.failed || !file->error);
}

static enum status
end(void *self)
{
	const struct restore *restore = self;
	const struct restore_sum *gone = &restore->gone, *left = &restore->left;
	bool whole = restore->changed == RESTORE_WHOLE;

	if (gone->files)
		diag_error("%llu files are gone since the snapshot, of which %s (%llu bytes) "
			   "were in memory",
		    (unsigned long long)gone->files, BYTES(gone->bytes),
		    (unsigned long long)gone->bytes);
	if (left->files)
		diag_error("%llu files changed since the snapshot and were left out, of which %s "
			   "(%llu bytes) were in memory; --changed=ranges or whole loads them",
		    (unsigned long long)left->files, BYTES(left->bytes),
		    (unsigned long long)left->bytes);
	if (restore->altered.files)
		diag_note("%llu files changed since the snapshot: %s",
		    (unsigned long long)restore->altered.files,
		    whole ? "they were loaded whole" : "the same parts were loaded");
	if (restore->broken)
		return STATUS_FAILED;
	return gone->files || left->files ? STATUS_PART : STATUS_DONE;
}

const struct source restore_source = {
	.note_size = sizeof(struct note),
	.only_files = true,
	.find = find,
	.look = look,
	.count = count,
	.end = end,
};
