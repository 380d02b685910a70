/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaf FOLDER: mounts there a file system that never answers, until it is killed (root).
 * Prints "mounted" when it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static void
die(const char *what)
{
	fprintf(stderr, "deaf: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The one thing that is answered: how the two sides talk. */
static void
greet(int fd)
{
	static char request[1 << 17];
	const struct fuse_in_header *in = (const void *)request;
	struct {
		struct fuse_out_header header;
		struct fuse_init_out init;
	} answer = {
		.header = { .len = sizeof answer },
		.init = { .major = FUSE_KERNEL_VERSION,
		    .minor = FUSE_KERNEL_MINOR_VERSION,
		    .max_write = 4096 },
	};

	if (read(fd, request, sizeof request) < (ssize_t)sizeof *in || in->opcode != FUSE_INIT)
		die("no greeting");
	answer.header.unique = in->unique;
	if (write(fd, &answer, sizeof answer) != sizeof answer)
		die("the greeting");
}

int
main(int argc, char **argv)
{
	char options[80];
	int fd = open("/dev/fuse", O_RDWR);

	if (argc != 2 || fd < 0)
		die("/dev/fuse");
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("deaf", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		die(argv[1]);
	greet(fd);
	puts("mounted");
	fflush(stdout);
	for (;;)
		pause();
}
