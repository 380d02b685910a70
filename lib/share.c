/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "num.h"

#define MAPS_PATH    "/proc/sys/vm/max_map_count"
#define MAPS_DEFAULT 65530
#define MAPS_OTHERS  2048 /* stacks, heaps, and what is mapped to be loaded */

#define PATIENCE 30 /* seconds: a worker that does not answer is as good as dead */

enum order { ORDER_ADD, ORDER_FIT, ORDER_DROP, ORDER_MEASURE };

/* To a worker: with a descriptor for each item of ORDER_ADD. */
struct request {
	enum order order;
	uint32_t count;
	struct {
		uint64_t start, length, end;
		uint32_t number;
	} items[SHARE_TOGETHER];
};

/* Back: one of each, but of ORDER_MEASURE as many as it takes. */
struct reply {
	uint32_t count;
	bool more, unknown;
	struct {
		uint64_t seen;
		uint32_t number;
		enum pin_failure failure;
		int error;
	} items[SHARE_TOGETHER];
};

/* --- in a worker */

static int
send_reply(int fd, const struct reply *reply)
{
	ssize_t n;

	do
		n = send(fd, reply, sizeof *reply, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *reply ? 0 : -1;
}

/* Returns how many descriptors came with it, into FDS; -1 at the end. */
static int
receive_request(int fd, struct request *request, int fds[SHARE_TOGETHER])
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * SHARE_TOGETHER)];
		struct cmsghdr header;
	} control;
	struct iovec part = { request, sizeof *request };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control };
	struct cmsghdr *header;
	int count = 0;
	ssize_t n;

	do
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof *request)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS) {
		count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(header), (size_t)count * sizeof(int));
	}
	return count;
}

/* Changes on their way back. */
struct changes {
	int fd;
	struct reply reply;
	bool failed;
};

static void
note_change(uint32_t number, uint64_t seen, void *argument)
{
	struct changes *changes = argument;
	struct reply *reply = &changes->reply;

	if (reply->count == SHARE_TOGETHER) {
		reply->more = true;
		changes->failed |= send_reply(changes->fd, reply) < 0;
		reply->count = 0;
	}
	reply->items[reply->count].number = number;
	reply->items[reply->count++].seen = seen;
}

static int
measure_all(int fd, struct pins *pins)
{
	struct changes changes = { .fd = fd };

	changes.reply.unknown = pins_measure(pins, note_change, &changes) < 0;
	changes.reply.more = false;
	return changes.failed ? -1 : send_reply(fd, &changes.reply);
}

/* Descriptors that did not come (too many are open) fail as such. */
static void
obey(struct pins *pins, const struct request *request, const int *fds, int fd_count,
    struct reply *reply)
{
	reply->count = request->count;
	for (uint32_t i = 0; i < request->count; i++) {
		uint32_t number = request->items[i].number;
		enum pin_failure failure = PIN_DONE;

		errno = EMFILE;
		if (request->order == ORDER_ADD)
			failure = (int)i < fd_count
			    ? pins_add(pins, fds[i], request->items[i].start,
				  request->items[i].length, request->items[i].end, &number)
			    : PIN_ERROR;
		else if (request->order == ORDER_FIT)
			failure = pins_fit(pins, number, request->items[i].length,
			    &reply->items[i].seen);
		else
			pins_drop(pins, number);
		reply->items[i].error = errno;
		reply->items[i].number = number;
		reply->items[i].failure = failure;
	}
}

static void
serve(int fd)
{
	struct pins pins = { 0 };
	struct request request;
	int fds[SHARE_TOGETHER], count;

	while ((count = receive_request(fd, &request, fds)) >= 0) {
		struct reply reply = { 0 };

		if (request.order == ORDER_MEASURE) {
			if (measure_all(fd, &pins) < 0)
				break;
			continue;
		}
		obey(&pins, &request, fds, count, &reply);
		while (count > 0)
			close(fds[--count]);
		if (send_reply(fd, &reply) < 0)
			break;
	}
}

/* What ends us comes by the socket; a terminal's signals are for who reads it. */
static void
become_worker(int fd, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGQUIT, SIGUSR1, SIGUSR2,
		SIGPIPE };
	long most = sysconf(_SC_OPEN_MAX);
	int null;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	/* a copy of another worker's socket would keep that one from seeing us end; one of our
	 * caller's pipes, or its folder, would keep others waiting that it goes (--detach) */
	for (int other = 0; other < (most < 4096 ? most : 4096); other++)
		if (other != fd)
			close(other);
	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null < STDERR_FILENO);
	if (chdir("/") < 0) {
		/* it is used for nothing */
	}
	serve(fd);
	_exit(0);
}

/* --- in our own process */

/* With the lock of the share: it answers no more. */
static void
give_up(struct share *share)
{
	share->dead = true;
	if (share->pid > 0)
		kill(share->pid, SIGKILL);
}

static int
send_request(struct share *share, const struct request *request, const struct share_item *items)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * SHARE_TOGETHER)];
		struct cmsghdr header;
	} control = { { 0 } };
	struct iovec part = { (void *)request, sizeof *request };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int fds[SHARE_TOGETHER];
	ssize_t n;

	if (items) {
		for (uint32_t i = 0; i < request->count; i++)
			fds[i] = items[i].fd;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(request->count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, request->count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(request->count * sizeof(int));
	}
	do
		n = sendmsg(share->fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *request ? 0 : -1;
}

static int
receive_reply(struct share *share, struct reply *reply)
{
	ssize_t n;

	do
		n = recv(share->fd, reply, sizeof *reply, 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *reply ? 0 : -1;
}

/* With the lock of the share. -1: the worker is gone. */
static int
ask(struct share *share, const struct request *request, const struct share_item *items,
    struct reply *reply)
{
	if (!share->dead && send_request(share, request, items) == 0 &&
	    receive_reply(share, reply) == 0)
		return 0;
	give_up(share);
	return -1;
}

static int
start_worker(struct shares *shares, struct share *share)
{
	struct timeval patience = { .tv_sec = PATIENCE };
	struct epoll_event event = { .events = EPOLLHUP };
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	share->pid = fork();
	if (share->pid == 0)
		become_worker(ends[1], parent);
	close(ends[1]);
	if (share->pid < 0) {
		share->pid = 0;
		close(ends[0]);
		return -1;
	}
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	share->fd = ends[0];
	share->dead = false;
	share->used = 0;
	event.data.fd = share->fd;
	if (shares->news >= 0)
		epoll_ctl(shares->news, EPOLL_CTL_ADD, share->fd, &event);
	return 0;
}

static void
end_worker(struct share *share)
{
	if (share->fd >= 0)
		close(share->fd);
	share->fd = -1;
	if (share->pid > 0) {
		kill(share->pid, SIGKILL);
		child_wait(share->pid, &(int){ 0 });
	}
	share->pid = 0;
}

/* A share, in the list, of nobody yet. */
static struct share *
add_share(struct shares *shares)
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

int
shares_grow(struct shares *shares)
{
	struct share *share = add_share(shares);

	return share ? start_worker(shares, share) : -1;
}

size_t
shares_most(void)
{
	FILE *stream = fopen(MAPS_PATH, "re");
	uint64_t most = MAPS_DEFAULT;
	char line[32];

	if (stream && fgets(line, sizeof line, stream)) {
		line[strcspn(line, "\n")] = '\0';
		if (num_count(line, &most) < 0)
			most = MAPS_DEFAULT;
	}
	if (stream)
		fclose(stream);
	return (size_t)(most > 2 * MAPS_OTHERS ? most - MAPS_OTHERS : most / 2 + 1);
}

int
shares_begin(struct shares *shares, uint64_t files, int news)
{
	struct share *own;

	*shares = (struct shares){ .news = news, .most = shares_most() };
	pthread_mutex_init(&shares->lock, NULL);
	own = add_share(shares);
	if (!own)
		return -1;
	own->own = true;
	own->dead = false;
	/* what cannot be started is missed where there is no room */
	while (shares->count * (uint64_t)shares->most < files)
		if (shares_grow(shares) < 0)
			break;
	return 0;
}

/* The one that has most room, for COUNT more. */
static uint32_t
choose(struct shares *shares, size_t count)
{
	uint32_t best = UINT32_MAX;

	pthread_mutex_lock(&shares->lock);
	for (uint32_t i = 0; i < shares->count; i++) {
		const struct share *share = shares->list[i];

		if (!share->dead && share->used + count <= shares->most &&
		    (best == UINT32_MAX || share->used < shares->list[best]->used))
			best = i;
	}
	if (best != UINT32_MAX)
		shares->list[best]->used += count;
	pthread_mutex_unlock(&shares->lock);
	return best;
}

static void
unuse(struct shares *shares, struct share *share)
{
	pthread_mutex_lock(&shares->lock);
	share->used--;
	pthread_mutex_unlock(&shares->lock);
}

static void
add_own(struct share *share, struct share_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct share_item *item = &items[i];

		item->failure = pins_add(&share->pins, item->fd, item->start, item->length,
		    item->end, &item->place.number);
		item->error = errno;
	}
}

static void
add_remote(struct share *share, struct share_item *items, size_t count)
{
	struct request request = { .order = ORDER_ADD, .count = (uint32_t)count };
	struct reply reply;
	bool answered;

	for (size_t i = 0; i < count; i++) {
		request.items[i].start = items[i].start;
		request.items[i].length = items[i].length;
		request.items[i].end = items[i].end;
	}
	answered = ask(share, &request, items, &reply) == 0;
	for (size_t i = 0; i < count; i++) {
		items[i].failure = answered ? reply.items[i].failure : PIN_WORKER;
		items[i].error = answered ? reply.items[i].error : ECONNRESET;
		items[i].place.number = answered ? reply.items[i].number : UINT32_MAX;
	}
}

void
shares_add(struct shares *shares, struct share_item *items, size_t count)
{
	uint32_t number = choose(shares, count);
	struct share *share = number == UINT32_MAX ? NULL : shares->list[number];

	if (share) {
		pthread_mutex_lock(&share->lock);
		(share->own ? add_own : add_remote)(share, items, count);
		pthread_mutex_unlock(&share->lock);
	}
	for (size_t i = 0; i < count; i++) {
		if (!share)
			items[i].failure = PIN_MAPS;
		items[i].place.share = number;
		if (items[i].failure == PIN_DONE)
			continue;
		items[i].place = SHARE_NOWHERE;
		if (share)
			unuse(shares, share);
	}
}

enum pin_failure
shares_fit(struct shares *shares, struct share_place place, uint64_t length, uint64_t *seen)
{
	struct share *share = shares->list[place.share];
	struct request request = { .order = ORDER_FIT, .count = 1 };
	enum pin_failure failure;
	struct reply reply;

	if (share->own)
		return pins_fit(&share->pins, place.number, length, seen);
	request.items[0].number = place.number;
	request.items[0].length = length;
	pthread_mutex_lock(&share->lock);
	failure = ask(share, &request, NULL, &reply) < 0 ? PIN_WORKER : reply.items[0].failure;
	pthread_mutex_unlock(&share->lock);
	*seen = failure == PIN_WORKER ? PIN_UNKNOWN : reply.items[0].seen;
	errno = failure == PIN_WORKER ? ECONNRESET : reply.items[0].error;
	return failure;
}

void
shares_drop(struct shares *shares, struct share_place place)
{
	struct request request = { .order = ORDER_DROP, .count = 1 };
	struct share *share;
	struct reply reply;

	if (place.share == UINT32_MAX)
		return;
	share = shares->list[place.share];
	request.items[0].number = place.number;
	pthread_mutex_lock(&share->lock);
	if (share->own)
		pins_drop(&share->pins, place.number);
	else
		ask(share, &request, NULL, &reply);
	pthread_mutex_unlock(&share->lock);
	unuse(shares, share);
}

int
shares_tag(struct shares *shares, struct share_place place, uint32_t tag)
{
	struct share *share = shares->list[place.share];

	if (place.number >= share->tag_count) {
		size_t count = 2 * (size_t)place.number + 64;
		uint32_t *tags = realloc(share->tags, count * sizeof *tags);

		if (!tags)
			return -1;
		share->tags = tags;
		share->tag_count = count;
	}
	share->tags[place.number] = tag;
	return 0;
}

/* Whose changes they are. */
struct measuring {
	const struct share *share;
	void (*changed)(uint32_t tag, uint64_t seen, void *argument);
	void *argument;
};

static void
pass_on(uint32_t number, uint64_t seen, void *argument)
{
	const struct measuring *measuring = argument;

	if (number < measuring->share->tag_count)
		measuring->changed(measuring->share->tags[number], seen, measuring->argument);
}

/* With the lock of the share. 0 as well where it dies meanwhile: shares_reap tells. */
static int
measure_remote(struct share *share, struct measuring *measuring)
{
	struct request request = { .order = ORDER_MEASURE };
	struct reply reply = { .more = true };

	if (share->dead || send_request(share, &request, NULL) < 0) {
		give_up(share);
		return 0;
	}
	while (reply.more) {
		if (receive_reply(share, &reply) < 0) {
			give_up(share);
			return 0;
		}
		for (uint32_t i = 0; i < reply.count; i++)
			pass_on(reply.items[i].number, reply.items[i].seen, measuring);
	}
	return reply.unknown ? -1 : 0;
}

int
shares_measure(struct shares *shares, void (*changed)(uint32_t tag, uint64_t seen, void *argument),
    void *argument)
{
	int result = 0;

	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];
		struct measuring measuring = { share, changed, argument };

		pthread_mutex_lock(&share->lock);
		if ((share->own ? pins_measure(&share->pins, pass_on, &measuring)
				: measure_remote(share, &measuring)) < 0)
			result = -1;
		pthread_mutex_unlock(&share->lock);
	}
	return result;
}

uint32_t
shares_reap(struct shares *shares)
{
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];

		if (share->pid == 0)
			continue;
		if (child_poll(share->pid, &(int){ 0 }) != 0)
			share->pid = 0; /* it is nobody's any more */
		else if (!share->dead)
			continue;
		share->dead = true;
		end_worker(share);
		start_worker(shares, share); /* where it fails, it stays dead, and has no room */
		return i;
	}
	return UINT32_MAX;
}

void
shares_release(struct shares *shares)
{
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];

		end_worker(share);
		pins_release(&share->pins);
		free(share->tags);
		free(share);
	}
	free(shares->list);
	*shares = (struct shares){ .news = -1 };
}
