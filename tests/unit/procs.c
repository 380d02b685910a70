/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "procs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static char root[] = "/tmp/hotset-procs.XXXXXX";
static char folder[64], file[80];

static int
look(const char *stat, struct procs_one *one)
{
	FILE *stream = fopen(file, "w");

	if (!stream || fputs(stat, stream) < 0 || fclose(stream) != 0)
		perror(file);
	*one = (struct procs_one){ .pid = 7 };
	errno = 0;
	return procs_look(root, one);
}

int
main(void)
{
	struct procs_one one;

	if (!mkdtemp(root))
		return 1;
	snprintf(folder, sizeof folder, "%s/proc", root);
	mkdir(folder, 0755);
	snprintf(folder, sizeof folder, "%s/proc/7", root);
	mkdir(folder, 0755);
	snprintf(file, sizeof file, "%s/stat", folder);

	ok(look("7 (a) b) S 3 7 7 0 -1 4194560 10 20 30 40 1 2 3 4 20 0 1 0 555 6 7\n", &one) == 0,
	    "a name with blanks and parentheses");
	ok(one.parent == 3 && one.faults == 70 && one.started == 555, "its figures");
	ok(!one.dead && !one.kernel, "it is alive, and no thread of the kernel");
	ok(look("7 (a) Z 3 7 7 0 -1 4194560 1 2 3 4 1 2 3 4 20 0 1 0 5 6 7\n", &one) == 0 &&
		one.dead,
	    "one that is dead");
	ok(look("7 (a) I 2 0 0 0 -1 69238880 1 2 3 4 1 2 3 4 20 0 1 0 5 6 7\n", &one) == 0 &&
		one.kernel,
	    "a thread of the kernel");
	ok(look("7 (a) S 3 7 7 0 -1 4194560 10 20 30 40\n", &one) == -1 && errno == EINVAL,
	    "too short");
	ok(look("7 a S 3 7 7 0 -1 4194560 1 2 3 4 1 2 3 4 20 0 1 0 5 6 7\n", &one) == -1 &&
		errno == EINVAL,
	    "no name");
	ok(look("7 (a) S 3 7 7 0 -1 x 1 2 3 4 1 2 3 4 20 0 1 0 5 6 7\n", &one) == -1 &&
		errno == EINVAL,
	    "no number");
	unlink(file);
	rmdir(folder);
	snprintf(folder, sizeof folder, "%s/proc", root);
	rmdir(folder);
	rmdir(root);
	return tap_done();
}
