/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load CASE FILE: one workload for the tools that count, whose truth is known by construction.
 * Makes FILE, brings it into its state, prints "ready" and waits for a line; runs, prints
 * "HITS MISSES" and waits for another, so that whatever ends with the process comes later.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096UL
#define PAGES 4096UL
#define SIZE  (PAGE * PAGES)

static char buffer[1 << 20];
static unsigned char resident[PAGES];
static unsigned long hits, misses;

static void
need(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/* As mincore sees it; whoever reads a page that was not there has it counted once. */
static unsigned long
look(int fd)
{
	char *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	unsigned long count = 0;

	need(map != MAP_FAILED && mincore(map, SIZE, resident) == 0, "mincore");
	munmap(map, SIZE);
	for (size_t i = 0; i < PAGES; i++)
		count += resident[i] &= 1;
	return count;
}

static int
make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	need(fd >= 0, path);
	for (size_t done = 0; done < SIZE; done += sizeof buffer)
		need(write(fd, buffer, sizeof buffer) == sizeof buffer, path);
	return fd;
}

/* One page in STEP stays in memory, none where STEP is 0. */
static void
set(int fd, size_t step)
{
	size_t wanted = step ? PAGES / step : 0;

	/* pages that were read lately may be held by a processor's batch */
	for (int i = 0; i < 50; i++, usleep(20000)) {
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (look(fd) != 0)
			continue;
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		for (size_t page = 0; step && page < PAGES; page += step)
			need(pread(fd, buffer, PAGE, (off_t)(page * PAGE)) == PAGE, "pread");
		posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
		if (look(fd) == wanted)
			return;
	}
	errno = EAGAIN;
	need(false, "the starting state");
}

static void
count(size_t page)
{
	misses += !resident[page];
	hits += resident[page];
	resident[page] = 1;
}

static void
read_all(int fd)
{
	for (size_t at = 0; at < SIZE; at += sizeof buffer)
		need(pread(fd, buffer, sizeof buffer, (off_t)at) == sizeof buffer, "pread");
	for (size_t page = 0; page < PAGES; page++)
		count(page);
}

static void
touch_all(int fd)
{
	volatile char *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

	need(map != MAP_FAILED, "mmap");
	for (size_t page = 0; page < PAGES; page++) {
		(void)map[page * PAGE];
		count(page);
	}
}

static void
send_all(int fd)
{
	int to = open("/dev/null", O_WRONLY);
	off_t at = 0;

	while (at < (off_t)SIZE)
		need(sendfile(to, fd, &at, SIZE) > 0, "sendfile");
	for (size_t page = 0; page < PAGES; page++)
		count(page);
}

static void
read_at_random(int fd)
{
	for (int i = 0; i < 4000; i++) {
		size_t page = (size_t)random() % PAGES;

		need(pread(fd, buffer, PAGE, (off_t)(page * PAGE)) == PAGE, "pread");
		count(page);
	}
}

/* Beside somebody who overwrites what is in memory, and reads nothing. */
static void
read_beside_writer(int fd)
{
	char path[] = "beside.XXXXXX";
	int other = mkstemp(path);
	pid_t writer;

	need(other >= 0 && unlink(path) == 0, path);
	for (size_t done = 0; done < SIZE; done += sizeof buffer)
		need(write(other, buffer, sizeof buffer) == sizeof buffer, path);
	fsync(other);
	writer = fork();
	need(writer >= 0, "fork");
	while (writer == 0)
		if (pwrite(other, buffer, PAGE, (off_t)((size_t)random() % PAGES * PAGE)) < 0)
			_exit(1);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	read_at_random(fd);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

static const struct {
	const char *name;
	size_t step; /* what is in memory */
	void (*run)(int fd);
} cases[] = {
	{ "cold-1m-reads", 0, read_all },
	{ "cached-1m-reads", 1, read_all },
	{ "half-random-beside-writer", 2, read_beside_writer },
	{ "cached-mmap-touch", 1, touch_all },
	{ "cached-sendfile", 1, send_all },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++) {
		int fd;

		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		fd = make(argv[2]);
		set(fd, cases[i].step);
		puts("ready");
		fflush(stdout);
		(void)getchar();
		cases[i].run(fd);
		printf("%lu %lu\n", hits, misses);
		fflush(stdout);
		(void)getchar();
		unlink(argv[2]);
		return 0;
	}
	fprintf(stderr, "usage: load CASE FILE\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		fprintf(stderr, "       %s\n", cases[i].name);
	return 2;
}
