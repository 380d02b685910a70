/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files, and programs, which are mapped by the kernel. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

static void
without_readahead(struct work *work)
{
	work->map_random = true;
	if (posix_fadvise(work->file.fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken("fadvise");
}

/* A file that is read by calls first, then touched: no page is missed twice. */
static void
read_then_touch(struct work *work)
{
	off_t start = 0;

	for (off_t at = 0; at < work->file.size; at += 4 * (off_t)PAGE)
		read_at(work, &work->file, PAGE, at);
	way_mmap(work, &(struct job){ &start, 1, .size = (size_t)work->file.size });
}

/* And the other way round. */
static void
touch_then_read(struct work *work)
{
	off_t start = 0;

	way_mmap(work, &(struct job){ &start, 1, .size = (size_t)work->file.size / 2 });
	read_sequential(work, 32 * PAGE);
}

/* Touched backwards, which readahead around a fault serves too. */
static void
touch_backwards(struct work *work)
{
	off_t offsets[4096];
	size_t count = work->pages < 4096 ? work->pages : 4096;

	for (size_t i = 0; i < count; i++)
		offsets[i] = (off_t)((count - 1 - i) * PAGE);
	way_mmap(work, &(struct job){ offsets, count, .size = PAGE });
}

/* A mapping does not begin where its file does. */
static void
touch_last_half(struct work *work)
{
	work->map_start = work->file.size / 2;
	way_mmap(work, &(struct job){ &work->map_start, 1, .size = (size_t)work->file.size / 2 });
}

/* A fault of a write maps nothing around it: each page has its own, whoever brought it in. */
static void
write_private(struct work *work)
{
	off_t start = 0;

	touch_mapping(work, &(struct job){ &start, 1, .size = (size_t)work->file.size }, true,
	    MAP_PRIVATE);
}

static void
write_shared(struct work *work)
{
	off_t start = 0;

	touch_mapping(work, &(struct job){ &start, 1, .size = (size_t)work->file.size }, true,
	    MAP_SHARED);
}

/* The case's file becomes a copy of this program. */
static void
copy_program(struct work *work)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy;
	struct stat status;
	char path[4096];
	ssize_t n;

	if (fd < 0 || fstat(fd, &status) < 0)
		broken("/proc/self/exe");
	snprintf(path, sizeof path, "%.4000s.program", work->file.path);
	file_remove(&work->file);
	close(work->file.fd);
	file_make_sparse(&work->file, path, status.st_size);
	while ((n = read(fd, buffer, BUFFER)) > 0)
		if (write(work->file.fd, buffer, (size_t)n) != n)
			broken(path);
	fchmod(work->file.fd, 0700);
	file_set(&work->file, COLD);
	close(fd);
	/* a file that is open for writing cannot be started */
	copy = open(path, O_RDONLY | O_CLOEXEC);
	close(work->file.fd);
	work->file.fd = copy;
}

/* The kernel reads the head of the program, which is in the first page, and its table of
 * segments, which lies there too; the rest is mapped. */
static void
start_program(struct work *work)
{
	char *const arguments[] = { work->file.path, (char *)"-l", NULL };
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (child == 0) {
		close(1);
		open("/dev/null", O_WRONLY);
		execv(work->file.path, arguments);
		_exit(127);
	}
	if (waitpid(child, &status, 0) < 0 || status != 0)
		broken("exec");
	getrusage(RUSAGE_CHILDREN, &usage);
	work->truth->faults = (unsigned long long)(usage.ru_minflt + usage.ru_majflt);
	file_accessed(&work->file, work->truth, 0, sizeof(Elf64_Ehdr));
	file_accessed(&work->file, work->truth, sizeof(Elf64_Ehdr), 4 * sizeof(Elf64_Phdr));
}

const struct workload mapped_cases[] = {
	CASE("read, then touched", EXACT | FAULT_MISSES | FAULTS | FILLS, MIXED, without_readahead,
	    read_then_touch),
	CASE("touched, then read", EXACT | FAULT_MISSES | FAULTS | FILLS, MIXED, without_readahead,
	    touch_then_read),
	CASE("touched backwards", EXACT | AROUND | FAULTS | FILLS, COLD, NULL, touch_backwards),
	CASE("its last half touched", EXACT | AROUND | FAULTS | FILLS, COLD, NULL, touch_last_half),
	CASE("written to privately", EXACT | FAULT_MISSES | FAULTS | FILLS, COLD, NULL,
	    write_private),
	CASE("written to through a mapping", EXACT | AROUND | FAULTS | FILLS, COLD, NULL,
	    write_shared),
	CASE("a program that is started", EXACT | HEAD_BOUND | FILLS | FAULT_BOUND, COLD,
	    copy_program, start_program),
	{ 0 },
};
