/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ways.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases.h"

#define PIPE 65536 /* what a pipe of the usual size takes */

char buffer[BUFFER];

ssize_t
read_at(struct work *work, struct file *file, size_t size, off_t offset)
{
	ssize_t n = pread(file->fd, buffer, size, offset);

	file_accessed(file, work->truth, offset, n);
	return n;
}

void
way_pread(struct work *work, const struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		read_at(work, &work->file, job->size, job->offsets[i]);
}

void
way_readv(struct work *work, const struct job *job)
{
	/* a border of parts inside a page */
	struct iovec parts[2] = { { buffer, 100 }, { buffer + 100, job->size - 100 } };

	for (size_t i = 0; i < job->count; i++) {
		ssize_t n = -1;

		if (lseek(work->file.fd, job->offsets[i], SEEK_SET) >= 0)
			n = readv(work->file.fd, parts, 2);
		file_accessed(&work->file, work->truth, job->offsets[i], n);
	}
}

static void
count_faults(struct truth *truth, int sign)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	truth->faults += (unsigned long long)(sign * (usage.ru_minflt + usage.ru_majflt));
	truth->major += (unsigned long long)(sign * usage.ru_majflt);
}

static long
faults_now(void)
{
	static struct rusage usage; /* in memory after the first time */

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static void
touch_page(struct work *work, volatile char *map, off_t byte, bool write)
{
	volatile char *at = map + (byte - work->map_start);
	long before = faults_now();

	if (write)
		*at = 'z';
	else
		(void)*at;
	file_touched(&work->file, work->truth, (size_t)byte / PAGE, faults_now() != before);
}

static void
touch_pages(struct work *work, const struct job *job, volatile char *map, bool write)
{
	faults_now();
	for (size_t i = 0; i < job->count; i++) {
		for (size_t at = 0; at < job->size; at += PAGE) {
			off_t byte = job->offsets[i] + (off_t)at;

			if (byte >= work->file.size)
				break;
			touch_page(work, map, byte, write);
		}
	}
}

/* What MAP has of the file now, by the kernel's own table; the caller frees it. */
static uint64_t *
mapped_now(const struct work *work, const void *map)
{
	size_t first = (size_t)work->map_start / PAGE;
	size_t size = (work->file.pages - first) * sizeof(uint64_t);
	uint64_t *entries = malloc(size);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (!entries || fd < 0 ||
	    pread(fd, entries, size, (off_t)((uintptr_t)map / PAGE * sizeof(uint64_t))) !=
		(ssize_t)size)
		broken("/proc/self/pagemap");
	close(fd);
	return entries;
}

/* Pages that were not KNOWN, in memory or accessed, before MAP was touched. */
static void
count_mapped(struct work *work, const void *map, const unsigned char *known)
{
	uint64_t *entries = mapped_now(work, map);
	size_t first = (size_t)work->map_start / PAGE;
	unsigned long long mapped = 0;

	for (size_t page = first; page < work->file.pages; page++)
		mapped += entries[page - first] >> 63 && !known[page];
	free(entries);
	work->truth->mapped += mapped - work->truth->fault_misses;
}

static void
touch_and_count(struct work *work, const struct job *job, void *map, bool write)
{
	unsigned char *known = malloc(work->file.pages);

	if (!known)
		broken("memory");
	for (size_t page = 0; page < work->file.pages; page++)
		known[page] = work->file.cached[page];
	count_faults(work->truth, -1);
	touch_pages(work, job, map, write);
	count_faults(work->truth, 1);
	count_mapped(work, map, known);
	free(known);
}

void
touch_mapping(struct work *work, const struct job *job, bool write, int flags)
{
	size_t length = (size_t)(work->file.size - work->map_start);
	void *map = mmap(NULL, length, write ? PROT_READ | PROT_WRITE : PROT_READ, flags,
	    work->file.fd, work->map_start);

	if (map == MAP_FAILED || (work->map_random && madvise(map, length, MADV_RANDOM) < 0))
		broken("mmap");
	work->truth->order_0 = work->map_random;
	touch_and_count(work, job, map, write);
	munmap(map, length);
}

void
way_mmap(struct work *work, const struct job *job)
{
	touch_mapping(work, job, false, MAP_SHARED);
}

void
send_to_nowhere(struct work *work, off_t from, size_t length)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	off_t at = from;
	ssize_t n;

	while (length && (n = sendfile(null, work->file.fd, &at, length)) != 0) {
		file_accessed(&work->file, work->truth, at - n, n);
		work->truth->borders += (unsigned long long)n / PIPE + 1;
		length -= (size_t)n;
	}
	close(null);
}

void
way_sendfile(struct work *work, const struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		send_to_nowhere(work, job->offsets[i], job->size);
}

/* Through a pipe of the usual size. */
void
way_splice(struct work *work, const struct job *job)
{
	int ends[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (pipe2(ends, O_CLOEXEC) < 0)
		broken("pipe");
	for (size_t i = 0; i < job->count; i++) {
		loff_t at = job->offsets[i], end = at + (loff_t)job->size;
		ssize_t n;

		while (at < end &&
		    (n = splice(work->file.fd, &at, ends[1], NULL, (size_t)(end - at), 0)) != 0) {
			if (!work->file.cached[(at - 1) / (off_t)PAGE])
				work->truth->unsure += (unsigned long long)n / PAGE + 2;
			file_accessed(&work->file, work->truth, at - n, n);
			while (n > 0)
				n -= splice(ends[0], NULL, null, NULL, (size_t)n, 0);
		}
	}
	close(ends[0]);
	close(ends[1]);
	close(null);
}
