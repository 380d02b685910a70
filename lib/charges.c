/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charges.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pagemap.h"
#include "residency.h"
#include "stop.h"
#include "sysabi.h"

#define WINDOW 1024 /* pages looked at in one step */

/* Pages of a file, mapped, and what is known of each. */
struct window {
	char *address;
	size_t pages;
	unsigned char in[WINDOW]; /* bit 0: in memory, as mincore sees it */
	uint64_t frames[WINDOW];  /* 0: not known */
	uint64_t groups[WINDOW];  /* inodes; what frames next to each other are read into */
};

enum charges_failure
charges_open(struct charges *charges)
{
	charges->pagemap = -1;
	charges->groups = open("/proc/kpagecgroup", O_RDONLY | O_CLOEXEC);
	if (charges->groups >= 0)
		charges->pagemap = pagemap_open();
	if (charges->pagemap >= 0)
		return pagemap_tells(charges->pagemap) ? CHARGES_OPEN : CHARGES_PRIVILEGE;
	if (errno == ENOENT)
		return CHARGES_KERNEL;
	return errno == EACCES || errno == EPERM ? CHARGES_PRIVILEGE : CHARGES_UNREADABLE;
}

/* The kernel reads a byte of each page for us: where there is none any more it says so, and
 * sends no SIGBUS. */
static void
touch(char *address, size_t pages)
{
	size_t page = (size_t)residency_page_size();

	for (size_t i = 0; i < pages; i++) {
		char byte;
		struct iovec to = { &byte, 1 }, from = { address + i * page, 1 };

		process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	}
}

/* Enters PAGES that are in memory into our page table. */
static void
enter(char *address, size_t pages)
{
	size_t bytes = pages * (size_t)residency_page_size();

	/* before Linux 5.14, or where the file ends now */
	if (madvise(address, bytes, SYSABI_MADV_POPULATE_READ) < 0)
		touch(address, pages);
}

static void
enter_all(struct window *window)
{
	size_t page = (size_t)residency_page_size(), end;

	for (size_t i = 0; i < window->pages; i = end) {
		end = i + 1;
		if (!(window->in[i] & 1))
			continue;
		while (end < window->pages && (window->in[end] & 1))
			end++;
		enter(window->address + i * page, end - i);
	}
}

/* Frames next to each other, as those of a large folio are, are asked about at once. */
static int
add_owners(const struct charges *charges, struct window *window, struct owners *owners)
{
	size_t end;

	for (size_t i = 0; i < window->pages; i = end) {
		uint64_t frame = window->frames[i];
		size_t got = 0;

		end = i + 1;
		if (!(window->in[i] & 1))
			continue;
		while (frame && end < window->pages && (window->in[end] & 1) &&
		    window->frames[end] == frame + (end - i))
			end++;
		if (frame)
			got = pagemap_numbers(charges->groups, frame, window->groups, end - i);
		for (size_t j = 0; j < end - i; j++)
			if (owners_add(owners, j < got ? window->groups[j] : OWNERS_NONE, 1) < 0)
				return -1;
	}
	return 0;
}

/*
 * MADV_RANDOM: a touch of a page must not start readahead behind it, as the marks that
 * readahead leaves on pages would; nor must it look like use of the page (Linux 6.3).
 */
static int
look(const struct charges *charges, struct window *window, size_t bytes, struct owners *owners)
{
	if (madvise(window->address, bytes, MADV_RANDOM) < 0 ||
	    mincore(window->address, bytes, window->in) < 0)
		return -1;
	enter_all(window);
	pagemap_frames(charges->pagemap, window->address, window->frames, window->pages);
	return add_owners(charges, window, owners);
}

int
charges_count(const struct charges *charges, int fd, uint64_t offset, uint64_t length,
    struct owners *owners)
{
	uint64_t page = residency_page_size(), end = offset + length;
	struct window window;

	for (uint64_t at = offset - offset % page; length && at < end; at += WINDOW * page) {
		uint64_t bytes = end - at < WINDOW * page ? end - at : WINDOW * page;
		int result, error;

		if (stop_asked()) {
			errno = EINTR;
			return -1;
		}
		window.pages = (size_t)residency_pages(at, bytes);
		window.address = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, (off_t)at);
		if (window.address == MAP_FAILED)
			return -1;
		result = look(charges, &window, (size_t)bytes, owners);
		error = errno;
		munmap(window.address, (size_t)bytes);
		errno = error;
		if (result < 0)
			return -1;
	}
	return 0;
}
