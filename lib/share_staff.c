/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share_staff.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "num.h"
#include "share_worker.h"

static int
start_worker(struct shares *shares, struct share *share)
{
	struct epoll_event event = { .events = EPOLLHUP };
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	share->pid = fork();
	if (share->pid == 0)
		share_work(ends[1], parent, &shares->list[0]->pins, shares->halt);
	close(ends[1]);
	if (share->pid < 0) {
		share->pid = 0;
		close(ends[0]);
		return -1;
	}
	share->fd = ends[0];
	share->dead = false;
	share->used = 0;
	event.data.fd = share->fd;
	if (shares->news >= 0)
		epoll_ctl(shares->news, EPOLL_CTL_ADD, share->fd, &event);
	return 0;
}

/* Those that have ended by now are nobody's any more. */
static void
bury(struct shares *shares)
{
	for (size_t i = 0; i < SHARE_WORKERS; i++)
		if (shares->ending[i] && child_poll(shares->ending[i], &(int){ 0 }) != 0)
			shares->ending[i] = 0;
}

bool
share_any_ending(struct shares *shares)
{
	bool any = false;

	bury(shares);
	for (size_t i = 0; i < SHARE_WORKERS; i++)
		any |= shares->ending[i] != 0;
	return any;
}

void
share_end_worker(struct shares *shares, struct share *share)
{
	if (share->fd >= 0)
		close(share->fd);
	share->fd = -1;
	if (share->pid > 0)
		kill(share->pid, SIGKILL);
	for (size_t i = 0; i < SHARE_WORKERS && share->pid > 0; i++)
		if (!shares->ending[i]) {
			shares->ending[i] = share->pid;
			break;
		}
	share->pid = 0;
	bury(shares);
}

struct share *
share_new(struct shares *shares)
{
	struct share **list = realloc(shares->list, (shares->count + 1) * sizeof *list);
	struct share *share;

	if (!list)
		return NULL;
	shares->list = list;
	share = list[shares->count] = calloc(1, sizeof *share);
	if (!share)
		return NULL;
	pthread_mutex_init(&share->lock, NULL);
	share->fd = -1;
	share->dead = true;
	shares->count++;
	return share;
}

/* One that nobody holds, as its worker has died and could not be replaced. */
static struct share *
find_free(const struct shares *shares)
{
	for (uint32_t i = 0; i < shares->count; i++)
		if (shares->list[i]->dead && shares->list[i]->pid == 0)
			return shares->list[i];
	return NULL;
}

static uint32_t
most_workers(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 >= SHARE_WORKERS)
		return SHARE_WORKERS;
	return (uint32_t)files.rlim_cur / 4;
}

/* Those that are pinned together need room in one. */
uint32_t
shares_needed(uint64_t files, uint64_t *room)
{
	uint64_t most = shares_most(), all = most_workers() + 1;
	uint64_t sure = most > SHARE_TOGETHER ? most - SHARE_TOGETHER : most;

	*room = all * most;
	return (uint32_t)num_least(files ? (files - 1) / sure + 1 : 1, all);
}

int
shares_grow(struct shares *shares)
{
	struct share *share = find_free(shares);

	if (!share && shares->count > most_workers()) {
		errno = EAGAIN;
		return -1;
	}
	if (!share)
		share = share_new(shares);
	return share ? start_worker(shares, share) : -1;
}

uint64_t
shares_spent(const struct shares *shares)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < shares->count; i++) {
		const struct share *share = shares->list[i];
		struct timespec spent;
		clockid_t clock;

		if ((share->own || share->pid > 0) &&
		    clock_getcpuclockid(share->own ? 0 : share->pid, &clock) == 0 &&
		    clock_gettime(clock, &spent) == 0)
			sum += (uint64_t)spent.tv_sec * 1000000000ULL + (uint64_t)spent.tv_nsec;
	}
	return sum;
}

uint32_t
shares_reap(struct shares *shares, bool *killed)
{
	bury(shares);
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];
		bool ours = share->dead;
		int status = 0;

		if (share->pid == 0)
			continue;
		if (child_poll(share->pid, &status) != 0)
			share->pid = 0; /* it is nobody's any more */
		else if (!share->dead)
			continue;
		*killed = !ours && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		share->dead = true;
		share_end_worker(shares, share);
		for (size_t j = 0; j < share->tag_count; j++)
			share->tags[j] = UINT32_MAX;
		start_worker(shares, share); /* where it fails, it stays dead, and has no room */
		return i;
	}
	return UINT32_MAX;
}
