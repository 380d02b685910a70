/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subject.h"
#include "truth.h"

_Noreturn void
broken(const char *what)
{
	fprintf(stderr, "truth: %s: %s\n", what, strerror(errno));
	exit(3);
}

void
explain(struct work *work, const char *reason)
{
	snprintf(work->truth->reason, sizeof work->truth->reason, "%s", reason);
}

_Noreturn void
skip(struct work *work, const char *reason)
{
	explain(work, reason);
	subject_remove_files(work);
	_exit(SUBJECT_SKIPPED);
}

bool
put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

struct file *
add_others(struct work *work, size_t count)
{
	work->others = calloc(count, sizeof *work->others);
	if (!work->others)
		broken("memory");
	work->other_count = count;
	return work->others;
}

uint32_t
draw(uint32_t below)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % below);
}

void
file_accessed(struct file *file, struct truth *truth, off_t offset, ssize_t length)
{
	if (length < 0)
		broken(file->path);
	if (length == 0)
		return;
	for (off_t page = offset / (off_t)PAGE; page <= (offset + length - 1) / (off_t)PAGE;
	     page++) {
		truth->accesses++;
		if (!atomic_exchange(&file->cached[page], 1))
			truth->misses++;
	}
}

void
file_touched(struct file *file, struct truth *truth, size_t page, bool fault)
{
	if (atomic_exchange(&file->cached[page], 1))
		return;
	truth->touched++;
	truth->fault_misses += fault;
}
