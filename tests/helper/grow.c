/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grow STEP TOTAL STAY FILE: an application that takes STEP MiB more each second until it has
 * TOTAL, reads 16 MiB of FILE each second, round and round, and stays for STAY seconds more.
 * Says how much it has, and at last that it is done.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB  (1 << 20)
#define PART 16

static char buffer[MIB];

static void
read_on(int fd)
{
	for (int i = 0; i < PART; i++) {
		ssize_t n = read(fd, buffer, sizeof buffer);

		if (n < 0) {
			perror("read");
			exit(1);
		}
		if (n == 0)
			lseek(fd, 0, SEEK_SET);
	}
}

int
main(int argc, char **argv)
{
	int step, total, stay, fd;

	if (argc != 5)
		return 2;
	step = atoi(argv[1]);
	total = atoi(argv[2]);
	stay = atoi(argv[3]);
	fd = open(argv[4], O_RDONLY);
	if (fd < 0) {
		perror(argv[4]);
		return 1;
	}
	for (int has = 0; has < total || stay-- > 0; sleep(1)) {
		if (has < total) {
			char *more = malloc((size_t)step * MIB);

			if (!more)
				return 1;
			memset(more, 'x', (size_t)step * MIB);
			has += step;
			printf("has %d MiB\n", has);
			fflush(stdout);
		}
		read_on(fd);
	}
	puts("done");
	return 0;
}
