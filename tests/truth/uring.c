/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ways.h"

struct ring {
	int fd;
	struct io_uring_sqe *entries;
	unsigned *tail, *mask, *array;
	unsigned *done_head, *done_tail, *done_mask;
	struct io_uring_cqe *done;
};

static bool
ring_open(struct ring *ring, unsigned depth)
{
	struct io_uring_params params = { 0 };
	char *submit, *complete;

	ring->fd = (int)syscall(SYS_io_uring_setup, depth, &params);
	if (ring->fd < 0)
		return false;
	submit = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned),
	    PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	complete = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
	    PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
	ring->entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe),
	    PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	if (submit == MAP_FAILED || complete == MAP_FAILED || ring->entries == MAP_FAILED)
		broken("io_uring mmap");
	ring->tail = (unsigned *)(submit + params.sq_off.tail);
	ring->mask = (unsigned *)(submit + params.sq_off.ring_mask);
	ring->array = (unsigned *)(submit + params.sq_off.array);
	ring->done_head = (unsigned *)(complete + params.cq_off.head);
	ring->done_tail = (unsigned *)(complete + params.cq_off.tail);
	ring->done_mask = (unsigned *)(complete + params.cq_off.ring_mask);
	ring->done = (struct io_uring_cqe *)(complete + params.cq_off.cqes);
	return true;
}

static void
ring_put(struct ring *ring, const struct io_uring_sqe *entry)
{
	unsigned tail = *ring->tail, slot = tail & *ring->mask;

	ring->entries[slot] = *entry;
	ring->array[slot] = slot;
	__atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
}

static void
ring_put_read(struct ring *ring, int fd, void *buffer, size_t size, off_t offset, bool async)
{
	ring_put(ring,
	    &(struct io_uring_sqe){ .opcode = IORING_OP_READ,
		.flags = async ? IOSQE_ASYNC : 0,
		.fd = fd,
		.off = (uint64_t)offset,
		.addr = (uint64_t)(uintptr_t)buffer,
		.len = (unsigned)size,
		.user_data = (uint64_t)offset });
}

/* Counts what is complete; returns how many requests that were. */
static unsigned
ring_reap(struct ring *ring, struct file *file, struct truth *truth)
{
	unsigned head = *ring->done_head, n = 0;

	for (; head != __atomic_load_n(ring->done_tail, __ATOMIC_ACQUIRE); head++, n++) {
		struct io_uring_cqe *done = &ring->done[head & *ring->done_mask];

		errno = done->res < 0 ? -done->res : 0;
		file_accessed(file, truth, (off_t)done->user_data, done->res);
	}
	__atomic_store_n(ring->done_head, head, __ATOMIC_RELEASE);
	return n;
}

static void
ring_enter(const struct ring *ring, unsigned submit, unsigned await)
{
	if (syscall(SYS_io_uring_enter, ring->fd, submit, await, IORING_ENTER_GETEVENTS, NULL, 0) <
	    0)
		broken("io_uring_enter");
}

void
way_uring(struct work *work, const struct job *job)
{
	struct ring ring;
	size_t put = 0, reaped = 0;
	void *data;

	if (posix_memalign(&data, PAGE, job->size) != 0)
		broken("memory");
	memset(data, 0, job->size); /* see the case "O_DIRECT" */
	if (!ring_open(&ring, job->depth))
		skip(work, "the kernel has no io_uring");
	/* of an overlay the kernel's workers read, each waiting */
	if (job->depth > 1 && (job->async || file_is_overlaid(&work->file)))
		work->truth->many_wait = (job->size + PAGE - 1) / PAGE;
	while (reaped < job->count) {
		unsigned fresh = 0;

		for (; put < job->count && put - reaped < job->depth; put++, fresh++)
			ring_put_read(&ring, work->file.fd, data, job->size, job->offsets[put],
			    job->async);
		if (job->meanwhile) {
			ring_enter(&ring, fresh, 0);
			job->meanwhile(work);
			fresh = 0;
		}
		ring_enter(&ring, fresh, 1);
		reaped += ring_reap(&ring, &work->file, work->truth);
	}
	close(ring.fd);
	free(data);
}

/* Carries out one request; its result, negative where there is no io_uring either. */
static int
carry_out(const struct io_uring_sqe *entry)
{
	struct ring ring;
	int result;

	if (!ring_open(&ring, 1))
		return -errno;
	ring_put(&ring, entry);
	ring_enter(&ring, 1, 1);
	result = ring.done[*ring.done_head & *ring.done_mask].res;
	close(ring.fd);
	return result;
}

int
uring_fadvise(int fd, off_t at, size_t length)
{
	return carry_out(&(struct io_uring_sqe){ .opcode = IORING_OP_FADVISE,
	    .fd = fd,
	    .off = (uint64_t)at,
	    .len = (unsigned)length,
	    .fadvise_advice = POSIX_FADV_WILLNEED });
}

int
uring_madvise(void *address, size_t length)
{
	return carry_out(&(struct io_uring_sqe){ .opcode = IORING_OP_MADVISE,
	    .fd = -1,
	    .addr = (uint64_t)(uintptr_t)address,
	    .len = (unsigned)length,
	    .fadvise_advice = MADV_WILLNEED });
}
