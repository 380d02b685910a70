/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "stop.h"
#include "sysctl.h"

#define MAPS_DEFAULT 65530
#define MAPS_OTHERS  2048 /* stacks, heaps, and what is mapped to be loaded */

/* A worker that does not answer is as good as dead. */
#define PATIENCE 30000000000ULL /* ns */
#define BREATH   100            /* ms */

enum order {
	ORDER_ADD,
	ORDER_RESIZE,
	ORDER_LOOK,
	ORDER_RESTORE,
	ORDER_DROP,
	ORDER_MEASURE,
};

/* To a worker: with a descriptor for each item of ORDER_ADD. */
struct request {
	enum order order;
	uint32_t count;
	struct {
		struct pin_what what; /* its descriptor is another one here */
		uint64_t length;      /* to be locked; of ORDER_RESTORE, where to begin */
		uint32_t number;
	} items[SHARE_TOGETHER];
};

/* Back: one of each, but of ORDER_MEASURE as many as it takes. */
struct reply {
	uint32_t count;
	bool more, unknown;
	struct {
		uint64_t length, seen, first;
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
static enum pin_failure
obey_one(struct pins *pins, const struct request *request, uint32_t i, int fd, struct reply *reply)
{
	struct pin_what what = request->items[i].what;
	uint32_t number = request->items[i].number;

	reply->items[i].length = request->items[i].length;
	what.fd = fd;
	errno = EMFILE;
	switch (request->order) {
	case ORDER_ADD:
		return fd < 0
		    ? PIN_ERROR
		    : pins_add(pins, &what, &reply->items[i].length, &reply->items[i].number);
	case ORDER_RESIZE:
		return pins_resize(pins, number, &reply->items[i].length, &reply->items[i].seen);
	case ORDER_LOOK:
		reply->items[i].seen = pins_look(pins, number, &reply->items[i].first);
		break;
	case ORDER_RESTORE:
		return pins_restore(pins, number, request->items[i].length);
	case ORDER_DROP:
		pins_drop(pins, number);
		break;
	case ORDER_MEASURE:
		break;
	}
	return PIN_DONE;
}

static bool
add_together(struct pins *pins, const struct request *request, const int *fds, struct reply *reply)
{
	struct pin_what whats[SHARE_TOGETHER];
	uint32_t numbers[SHARE_TOGETHER];

	for (uint32_t i = 0; i < request->count; i++) {
		whats[i] = request->items[i].what;
		whats[i].fd = fds[i];
	}
	if (!pins_add_together(pins, whats, request->count, numbers))
		return false;
	for (uint32_t i = 0; i < request->count; i++) {
		reply->items[i].failure = PIN_DONE;
		reply->items[i].error = 0;
		reply->items[i].number = numbers[i];
		reply->items[i].length = whats[i].length;
	}
	return true;
}

static void
obey(struct pins *pins, const struct request *request, const int *fds, int fd_count,
    struct reply *reply)
{
	reply->count = request->count;
	if (request->order == ORDER_ADD && request->count > 1 && fd_count == (int)request->count &&
	    add_together(pins, request, fds, reply))
		return;
	for (uint32_t i = 0; i < request->count; i++) {
		reply->items[i].failure = obey_one(pins, request, i,
		    (int)i < fd_count ? fds[i] : -1, reply);
		reply->items[i].error = errno;
	}
}

static void
serve(int fd, const atomic_bool *halt)
{
	struct pins pins = { .halt = halt };
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
become_worker(struct shares *shares, int fd, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGQUIT, SIGUSR1, SIGUSR2,
		SIGPIPE };
	long most = sysconf(_SC_OPEN_MAX);
	sigset_t none;
	int null;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
	/* one that is blocked stays pending, ignored or not, and looks like a stop for ever */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
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
	/* one that is started later has all that we have pinned, and would keep it */
	pins_release(&shares->list[0]->pins);
	serve(fd, shares->halt);
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
			fds[i] = items[i].what.fd;
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

/* Waits for what a worker sends; false where it takes too long. */
static bool
wait_for_reply(const struct shares *shares, const struct share *share)
{
	bool breathes = shares->breathe && pthread_equal(shares->main, pthread_self());
	struct pollfd ready = { .fd = share->fd, .events = POLLIN };
	uint64_t deadline = stop_now() + PATIENCE;

	while (poll(&ready, 1, BREATH) <= 0) {
		if (stop_now() >= deadline)
			return false;
		if (breathes)
			shares->breathe(shares->argument);
	}
	return true;
}

static int
receive_reply(const struct shares *shares, struct share *share, struct reply *reply)
{
	ssize_t n;

	if (!wait_for_reply(shares, share))
		return -1;
	do
		n = recv(share->fd, reply, sizeof *reply, 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *reply ? 0 : -1;
}

/* With the lock of the share. -1 with errno: ECONNRESET where the worker is gone; else it is
 * well, and has not heard of it. */
static int
ask(const struct shares *shares, struct share *share, const struct request *request,
    const struct share_item *items, struct reply *reply)
{
	if (!share->dead && send_request(share, request, items) == 0) {
		if (receive_reply(shares, share, reply) == 0)
			return 0;
	} else if (!share->dead && errno != EPIPE && errno != ECONNRESET)
		return -1;
	give_up(share);
	errno = ECONNRESET;
	return -1;
}

/* As ask, of one; what it failed with is in the reply then. */
static void
ask_one(struct shares *shares, struct share_place place, struct request *request,
    struct reply *reply)
{
	struct share *share = shares->list[place.share];

	request->count = 1;
	request->items[0].number = place.number;
	reply->items[0].first = 0;
	pthread_mutex_lock(&share->lock);
	if (share->own)
		obey(&share->pins, request, NULL, 0, reply);
	else if (ask(shares, share, request, NULL, reply) < 0) {
		reply->items[0].failure = errno == ECONNRESET ? PIN_WORKER : PIN_ERROR;
		reply->items[0].error = errno;
		reply->items[0].length = reply->items[0].seen = PIN_UNKNOWN;
	}
	pthread_mutex_unlock(&share->lock);
}

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
		become_worker(shares, ends[1], parent);
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

static bool
any_ending(struct shares *shares)
{
	bool any = false;

	bury(shares);
	for (size_t i = 0; i < SHARE_WORKERS; i++)
		any |= shares->ending[i] != 0;
	return any;
}

/* It may hang in the kernel, and is not waited for. */
static void
end_worker(struct shares *shares, struct share *share)
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

int
shares_grow(struct shares *shares)
{
	struct share *share = find_free(shares);

	if (!share && shares->count > most_workers()) {
		errno = EAGAIN;
		return -1;
	}
	if (!share)
		share = add_share(shares);
	return share ? start_worker(shares, share) : -1;
}

size_t
shares_most(void)
{
	uint64_t most = sysctl_number("vm/max_map_count", MAPS_DEFAULT);

	return (size_t)(most > 2 * MAPS_OTHERS ? most - MAPS_OTHERS : most / 2 + 1);
}

int
shares_begin(struct shares *shares, uint64_t files)
{
	struct share *own;

	shares->main = pthread_self();
	shares->most = shares_most();
	pthread_mutex_init(&shares->lock, NULL);
	shares->halt = mmap(NULL, sizeof *shares->halt, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shares->halt == MAP_FAILED) {
		shares->halt = NULL;
		return -1;
	}
	own = add_share(shares);
	if (!own)
		return -1;
	own->own = true;
	own->dead = false;
	own->pins.halt = shares->halt;
	/* those that are pinned together need room in one; what cannot be started is missed where
	 * there is none */
	while (shares->most > SHARE_TOGETHER &&
	    shares->count * (uint64_t)(shares->most - SHARE_TOGETHER) < files)
		if (shares_grow(shares) < 0)
			break;
	return 0;
}

void
shares_halt(struct shares *shares, bool halt)
{
	if (shares->halt)
		atomic_store(shares->halt, halt);
}

bool
shares_halted(const struct shares *shares)
{
	return shares->halt && atomic_load_explicit(shares->halt, memory_order_relaxed);
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
add(const struct shares *shares, struct share *share, struct share_item *items, size_t count)
{
	struct request request = { .order = ORDER_ADD, .count = (uint32_t)count };
	int fds[SHARE_TOGETHER], error = 0;
	struct reply reply;

	for (size_t i = 0; i < count; i++) {
		request.items[i].what = items[i].what;
		request.items[i].length = items[i].locked;
		fds[i] = items[i].what.fd;
	}
	if (share->own)
		obey(&share->pins, &request, fds, (int)count, &reply);
	else if (ask(shares, share, &request, items, &reply) < 0)
		error = errno;
	for (size_t i = 0; i < count; i++) {
		items[i].failure = !error ? reply.items[i].failure
		    : error == ECONNRESET ? PIN_WORKER
					  : PIN_ERROR;
		items[i].error = error ? error : reply.items[i].error;
		items[i].locked = error ? 0 : reply.items[i].length;
		items[i].place.number = error ? UINT32_MAX : reply.items[i].number;
	}
}

void
shares_add(struct shares *shares, struct share_item *items, size_t count)
{
	uint32_t number = choose(shares, count);
	struct share *share = number == UINT32_MAX ? NULL : shares->list[number];

	if (share) {
		pthread_mutex_lock(&share->lock);
		add(shares, share, items, count);
		pthread_mutex_unlock(&share->lock);
	}
	for (size_t i = 0; i < count; i++) {
		if (!share)
			items[i].failure = PIN_MAPS;
		items[i].place.share = number;
		if (items[i].failure == PIN_DONE && items[i].locked > 0)
			continue;
		items[i].place = SHARE_NOWHERE;
		items[i].locked = 0;
		if (share)
			unuse(shares, share);
	}
}

enum pin_failure
shares_resize(struct shares *shares, struct share_place place, uint64_t *length, uint64_t *seen)
{
	struct request request = { .order = ORDER_RESIZE };
	struct reply reply;

	request.items[0].length = *length;
	ask_one(shares, place, &request, &reply);
	*length = reply.items[0].length;
	*seen = reply.items[0].seen;
	errno = reply.items[0].error;
	return reply.items[0].failure;
}

uint64_t
shares_look(struct shares *shares, struct share_place place, uint64_t *first)
{
	struct request request = { .order = ORDER_LOOK };
	struct reply reply;

	ask_one(shares, place, &request, &reply);
	*first = reply.items[0].first;
	return reply.items[0].seen;
}

enum pin_failure
shares_restore(struct shares *shares, struct share_place place, uint64_t first)
{
	struct request request = { .order = ORDER_RESTORE };
	struct reply reply;

	request.items[0].length = first;
	ask_one(shares, place, &request, &reply);
	errno = reply.items[0].error;
	return reply.items[0].failure;
}

void
shares_drop(struct shares *shares, struct share_place place)
{
	struct request request = { .order = ORDER_DROP };
	struct reply reply;

	if (place.share == UINT32_MAX)
		return;
	ask_one(shares, place, &request, &reply);
	/* what does not hear of it must not hold it */
	if (reply.items[0].failure == PIN_ERROR)
		give_up(shares->list[place.share]);
	unuse(shares, shares->list[place.share]);
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
		memset(tags + share->tag_count, 0xff, (count - share->tag_count) * sizeof *tags);
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

	if (number < measuring->share->tag_count && measuring->share->tags[number] != UINT32_MAX)
		measuring->changed(measuring->share->tags[number], seen, measuring->argument);
}

/* With the lock of the share: whether an answer is to come. */
static bool
ask_to_measure(struct share *share)
{
	struct request request = { .order = ORDER_MEASURE };

	if (share->own || share->dead)
		return false;
	if (send_request(share, &request, NULL) == 0)
		return true;
	if (errno == EPIPE || errno == ECONNRESET)
		give_up(share);
	return false; /* else the next time */
}

/* With the lock of the share. 0 as well where it dies meanwhile: shares_reap tells. */
static int
receive_measures(const struct shares *shares, struct share *share, struct measuring *measuring)
{
	struct reply reply = { .more = true };

	while (reply.more) {
		if (receive_reply(shares, share, &reply) < 0) {
			give_up(share);
			return 0;
		}
		for (uint32_t i = 0; i < reply.count; i++)
			pass_on(reply.items[i].number, reply.items[i].seen, measuring);
	}
	return reply.unknown ? -1 : 0;
}

/* All at the same time: who is asked has its lock held until it has answered. */
int
shares_measure(struct shares *shares, void (*changed)(uint32_t tag, uint64_t seen, void *argument),
    void *argument)
{
	bool asked[SHARE_WORKERS + 1];
	int result = 0;

	for (uint32_t i = 0; i < shares->count; i++) {
		pthread_mutex_lock(&shares->list[i]->lock);
		asked[i] = ask_to_measure(shares->list[i]);
	}
	for (uint32_t i = 0; i < shares->count; i++) {
		struct share *share = shares->list[i];
		struct measuring measuring = { share, changed, argument };

		if (share->own && pins_measure(&share->pins, pass_on, &measuring) < 0)
			result = -1;
		if (asked[i] && receive_measures(shares, share, &measuring) < 0)
			result = -1;
		pthread_mutex_unlock(&share->lock);
	}
	return result;
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
		end_worker(shares, share);
		for (size_t j = 0; j < share->tag_count; j++)
			share->tags[j] = UINT32_MAX;
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

		end_worker(shares, share);
		pins_release(&share->pins);
		free(share->tags);
		free(share);
	}
	free(shares->list);
	/* what holds the files' memory goes before us, unless it hangs */
	for (int i = 0; i < 100 && any_ending(shares); i++)
		poll(NULL, 0, 10);
	if (shares->halt)
		munmap(shares->halt, sizeof *shares->halt);
	*shares = (struct shares){ .news = -1 };
}
