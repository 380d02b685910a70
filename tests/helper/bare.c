/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare FOLDER [THREADS]     opens, fstats, cachestats and closes each file of a folder
 *
 * The least that anyone can do to know how much of each file is in memory: what
 * tests/bench/resident compares with. THREADS is 2 if not given. Names are read by one
 * thread before the others start on them; the time printed is of all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sysabi.h"

#define CHUNK 64 /* names that a thread takes at a time */

static char **names;
static size_t count;
static atomic_size_t next;
static atomic_ullong resident;
static int folder;

static void
die(const char *what)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
look(const char *name)
{
	struct sysabi_cachestat_range range = { 0, 0 };
	struct sysabi_cachestat pages;
	struct stat status;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0)
		die(name);
	range.length = (uint64_t)status.st_size;
	if (syscall(SYS_cachestat, fd, &range, &pages, 0) < 0)
		die("cachestat");
	resident += pages.cached;
	close(fd);
}

static void *
work(void *argument)
{
	size_t at;

	while ((at = atomic_fetch_add(&next, CHUNK)) < count)
		for (size_t i = at; i < at + CHUNK && i < count; i++)
			look(names[i]);
	return argument;
}

static void
list(const char *path)
{
	DIR *stream = opendir(path);
	struct dirent *entry;
	size_t size = 0;

	if (!stream)
		die(path);
	while ((entry = readdir(stream))) {
		if (entry->d_type != DT_REG)
			continue;
		if (count == size) {
			size = size ? 2 * size : 1024;
			names = realloc(names, size * sizeof *names);
		}
		if (!names || !(names[count++] = strdup(entry->d_name)))
			die("names");
	}
	folder = dirfd(stream);
}

int
main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 2;
	struct timespec start, end;
	pthread_t thread[64];

	if (argc < 2 || threads < 1 || threads > 64) {
		fputs("usage: bare FOLDER [THREADS]\n", stderr);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	list(argv[1]);
	for (int i = 0; i < threads; i++)
		if ((errno = pthread_create(&thread[i], NULL, work, NULL)))
			die("threads");
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%zu files, %llu pages, %.3f s\n", count, (unsigned long long)resident,
	    (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
	return 0;
}
