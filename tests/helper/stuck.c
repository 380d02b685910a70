/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck pipe|full|stopped COMMAND [ARGUMENT...]: becomes COMMAND, whose output is something that
 * nobody reads. pipe: standard output is a pipe that is full. full: standard output and error are
 * a terminal that is full. stopped: a terminal that is stopped, as by ^S.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STOP "\023" /* ^S */

static void
need(int done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(125);
}

/* Until nothing fits: for others it is as it was. */
static void
fill(int fd, const char *filler)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, filler, strlen(filler)) > 0)
		continue;
	fcntl(fd, F_SETFL, flags);
}

static void
make_pipe(int ends[2])
{
	need(pipe(ends) == 0, "pipe");
	fill(ends[1], "filler");
}

static void
make_terminal(int ends[2], int stopped)
{
	ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
	need(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0, "terminal");
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
	need(ends[1] >= 0, ptsname(ends[0]));
	if (stopped)
		need(write(ends[0], STOP, 1) == 1, "stop");
	else
		fill(ends[1], "x"); /* a byte of room is left, or none: a newline takes two */
	if (stopped)
		usleep(100000); /* the line discipline gets it in its own time */
}

int
main(int argc, char **argv)
{
	int ends[2] = { -1, -1 };

	if (argc < 3)
		return 125;
	if (strcmp(argv[1], "pipe") == 0)
		make_pipe(ends);
	else
		make_terminal(ends, strcmp(argv[1], "stopped") == 0);
	/* who could read it, for as long as there is somebody to write */
	if (fork() == 0) {
		setsid(); /* what ends the command is not for us */
		close(ends[1]);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (strcmp(argv[1], "pipe") != 0)
		dup2(ends[1], STDERR_FILENO);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	execvp(argv[2], argv + 2);
	return 127;
}
