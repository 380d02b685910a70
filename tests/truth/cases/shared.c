/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several processes, at the same time. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

#define MANY 64

static void
await_children(void)
{
	int status;

	while (wait(&status) > 0)
		if (status != 0)
			broken("a reader has failed");
}

static void
beside_writer(struct work *work)
{
	pid_t writer = start_writer(work);

	read_random_4k(work);
	end_writer(writer);
}

/* A child dies in the middle of a read; we read what is left and all again. */
static void
killed_reader(struct work *work)
{
	pid_t child = fork();

	if (child == 0) {
		for (off_t at = 0;; at = (at + BUFFER) % work->file.size)
			if (pread(work->file.fd, buffer, BUFFER, at) < 0)
				_exit(1);
	}
	usleep(2000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	read_sequential(work, 32 * PAGE);
}

/* The position of a descriptor is shared. */
static void
one_descriptor(struct work *work)
{
	if (lseek(work->file.fd, 0, SEEK_SET) < 0)
		broken("lseek");
	for (int i = 0; i < MANY; i++) {
		if (fork() == 0) {
			ssize_t n;

			/* where a read began is not known here, but all are of whole pages */
			while ((n = read(work->file.fd, buffer, 4 * PAGE)) > 0)
				atomic_fetch_add(&work->truth->accesses, (unsigned)n / PAGE);
			_exit(0);
		}
	}
	await_children();
	for (size_t page = 0; page < work->pages; page++)
		work->truth->misses += !atomic_exchange(&work->file.cached[page], 1);
}

/* Two processes first touch the same pages at the same time. */
static void
two_readers(struct work *work)
{
	pid_t child = fork();

	read_sequential(work, 32 * PAGE);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void
two_mappers(struct work *work)
{
	off_t start = 0;
	pid_t child = fork();

	work->map_random = true;
	way_mmap(work, &(struct job){ &start, 1, .size = (size_t)work->file.size });
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	/* both may have waited for the same page; each is one's miss, with no readahead */
	work->truth->major = 0;
	work->truth->fault_misses = (unsigned long long)work->truth->touched;
	work->truth->mapped = 0;
}

/* Each its part, half of which is in memory, a page at a time. */
static void
read_part(struct work *work, size_t part)
{
	size_t pages = work->pages / MANY;

	for (size_t page = part * pages; page < (part + 1) * pages; page++)
		read_at(work, &work->file, PAGE, (off_t)(page * PAGE));
}

static void
many_readers_of_parts(struct work *work)
{
	for (size_t i = 0; i < MANY; i++) {
		if (fork() == 0) {
			read_part(work, i);
			_exit(0);
		}
	}
	await_children();
}

/* The same by mappings. */
static void
many_mappers_of_parts(struct work *work)
{
	size_t size = work->pages / MANY * PAGE;

	work->map_random = true;
	for (size_t i = 0; i < MANY; i++) {
		if (fork() == 0) {
			work->map_start = (off_t)(i * size);
			way_mmap(work, &(struct job){ &work->map_start, 1, .size = size });
			_exit(0);
		}
	}
	await_children();
}

/* All the same pages, each beginning elsewhere, by descriptors of their own. */
static void
read_around(struct work *work, size_t part)
{
	off_t step = 16 * (off_t)PAGE, start = (off_t)(part * (work->pages / MANY) * PAGE);

	for (off_t done = 0; done < work->file.size; done += step)
		read_at(work, &work->file, (size_t)step, (start + done) % work->file.size);
}

static void
many_readers_of_all(struct work *work)
{
	for (size_t i = 0; i < MANY; i++) {
		if (fork() == 0) {
			read_around(work, i);
			_exit(0);
		}
	}
	await_children();
}

static void
many_readers_of_files(struct work *work)
{
	for (size_t i = 0; i < work->other_count; i++) {
		if (fork() == 0) {
			struct file *file = &work->others[i];

			for (off_t at = 0; at < file->size; at += 5000)
				read_at(work, file, 5000, at);
			_exit(0);
		}
	}
	await_children();
}

/* Each all of its file by one call, which asks for more, at the same time. */
static void
many_readers_once(struct work *work)
{
	int start[2];
	char none;

	if (pipe(start) < 0)
		broken("pipe");
	for (size_t i = 0; i < work->other_count; i++) {
		if (fork() == 0) {
			close(start[1]);
			if (read(start[0], &none, 1) != 0)
				_exit(1);
			read_at(work, &work->others[i], BUFFER, 0);
			_exit(0);
		}
	}
	close(start[0]);
	close(start[1]);
	await_children();
}

static void
make_many_files(struct work *work)
{
	struct file *files = add_others(work, MANY);
	char path[4096];

	for (size_t i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "%.4000s.%zu", work->file.path, i);
		file_make(&files[i], path, 300000);
		file_set(&files[i], i % 2 ? MIXED : COLD);
	}
}

const struct workload shared_cases[] = {
	CASE("half, beside a writer", EXACT, HALF, make_other_warm, beside_writer),
	CASE("a reader killed in mid-read", MISSES, COLD, NULL, killed_reader),
	CASE("two readers of the same cold pages", EXACT, COLD, NULL, two_readers),
	CASE("two mappings of the same cold pages", EXACT | AROUND | FILLS, COLD, NULL,
	    two_mappers),
	CASE("64 readers of one descriptor", EXACT, MIXED, NULL, one_descriptor),
	CASE("64 readers of parts of a file", EXACT, MIXED, NULL, many_readers_of_parts),
	CASE("64 mappings of parts of a file", EXACT | FAULT_MISSES | FILLS, MIXED, NULL,
	    many_mappers_of_parts),
	CASE("64 readers of the same file", EXACT, MIXED, NULL, many_readers_of_all),
	CASE("64 readers of 64 files", EXACT, COLD, make_many_files, many_readers_of_files),
	CASE("64 readers of 64 files, by one call", EXACT, COLD, make_many_files,
	    many_readers_once),
	{ 0 },
};
