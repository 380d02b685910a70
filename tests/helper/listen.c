/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen [-s] [-d SECONDS] PATH|@NAME: prints each datagram that comes to that Unix socket, with
 * the variables of one on a line, separated by blanks. What sd_notify(3) and syslog(3) send is seen
 * so. -s: behind the seconds, with three decimals, at which it came. -d: first the socket takes
 * nothing for so long: it is full.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FILLER "filler"

/* Until a sender cannot send even one; one alone may send less than what is taken. */
static void
fill(const struct sockaddr *address, socklen_t length)
{
	int sent;

	do {
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

		sent = 0;
		while (sendto(fd, FILLER, strlen(FILLER), 0, address, length) >= 0)
			sent++;
		close(fd);
	} while (sent);
}

static void
print(char *text, int stamps)
{
	struct timespec now;

	if (strcmp(text, FILLER) == 0)
		return;
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = ' ';
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (stamps)
		printf("%lld.%03ld ", (long long)now.tv_sec, now.tv_nsec / 1000000);
	puts(text);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), option, stamps = 0;
	unsigned deaf = 0;
	char text[4096];
	socklen_t length;
	ssize_t n;

	while ((option = getopt(argc, argv, "sd:")) != -1) {
		if (option == '?')
			return 2;
		if (option == 's')
			stamps = 1;
		else
			deaf = (unsigned)atoi(optarg);
	}
	if (argc != optind + 1 || strlen(argv[optind]) >= sizeof address.sun_path)
		return 2;
	strcpy(address.sun_path, argv[optind]);
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(argv[optind]));
	if (*argv[optind] == '@')
		address.sun_path[0] = '\0';
	if (bind(fd, (struct sockaddr *)&address, length) < 0) {
		perror(argv[optind]);
		return 1;
	}
	if (deaf) {
		fill((struct sockaddr *)&address, length);
		puts("full");
		fflush(stdout);
		sleep(deaf);
	}
	while ((n = recv(fd, text, sizeof text - 1, 0)) >= 0) {
		text[n] = '\0';
		print(text, stamps);
	}
	return 1;
}
