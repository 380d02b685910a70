/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen PATH|@NAME: prints each datagram that comes to that Unix socket, with the variables
 * of one on a line, separated by blanks. What sd_notify(3) and syslog(3) send is seen so.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[4096];
	ssize_t n;

	if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path)
		return 2;
	strcpy(address.sun_path, argv[1]);
	if (*argv[1] == '@')
		address.sun_path[0] = '\0';
	if (bind(fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(argv[1]))) < 0) {
		perror(argv[1]);
		return 1;
	}
	while ((n = recv(fd, text, sizeof text - 1, 0)) >= 0) {
		text[n] = '\0';
		for (char *at = text; *at; at++)
			if (*at == '\n')
				*at = ' ';
		puts(text);
		fflush(stdout);
	}
	return 1;
}
