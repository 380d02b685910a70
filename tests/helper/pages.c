/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages FILE                     prints RESIDENT/TOTAL pages, as mincore sees them
 * pages --map FILE               prints one character a page: 1 resident, 0 not
 * pages --evict FILE             writes the file back and drops it from the page cache
 * pages --warm FILE OFFSET LEN   reads these bytes and nothing around them
 *
 * The independent look at the page cache that tests compare with: run it as the
 * owner of the file, since mincore tells nobody else the truth.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t page;

static void
die(const char *what)
{
	fprintf(stderr, "pages: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
look(int fd, int map)
{
	off_t size = lseek(fd, 0, SEEK_END); /* block devices have no st_size */
	size_t total = ((size_t)size + page - 1) / page, resident = 0;
	unsigned char *there = malloc(total + 1);
	void *address;

	if (size < 0 || !there)
		die("size");
	if (total) {
		address = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
		if (address == MAP_FAILED)
			die("mmap");
		if (mincore(address, (size_t)size, there) < 0)
			die("mincore");
	}
	for (size_t i = 0; i < total; i++) {
		resident += there[i] & 1;
		if (map)
			putchar('0' + (there[i] & 1));
	}
	if (map)
		putchar('\n');
	else
		printf("%zu/%zu\n", resident, total);
	free(there);
}

static void
evict(int fd)
{
	int error;

	if (fsync(fd) < 0)
		die("fsync");
	error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (error) {
		errno = error;
		die("fadvise");
	}
}

/* FADV_RANDOM: no readahead, so that only the pages asked for come in. */
static void
warm(int fd, off_t offset, off_t length)
{
	char buffer[65536];

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	while (length > 0) {
		size_t want = length < (off_t)sizeof buffer ? (size_t)length : sizeof buffer;
		ssize_t n = pread(fd, buffer, want, offset);

		if (n < 0)
			die("read");
		if (n == 0)
			break;
		offset += n;
		length -= n;
	}
}

int
main(int argc, char **argv)
{
	const char *path = argc > 2 ? argv[2] : argc > 1 ? argv[1] : "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (fd < 0)
		die(path);
	if (argc == 2)
		look(fd, 0);
	else if (argc == 3 && strcmp(argv[1], "--map") == 0)
		look(fd, 1);
	else if (argc == 3 && strcmp(argv[1], "--evict") == 0)
		evict(fd);
	else if (argc == 5 && strcmp(argv[1], "--warm") == 0)
		warm(fd, atoll(argv[3]), atoll(argv[4]));
	else {
		fprintf(stderr, "usage: pages [--map | --evict | --warm] FILE [OFFSET LENGTH]\n");
		return 2;
	}
	return fflush(stdout) != 0;
}
