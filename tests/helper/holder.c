/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holder DO ARGUMENT...   does one thing after the other, makes the link "ready" in the folder
 *                         that it began in, and waits for a signal to end it
 *   open FILE        has it open to read
 *   map FILE         has it mapped, and not open
 *   use FILE         has its first page mapped, and has read it; nor is it open
 *   spread FILE      the same of one page in each 16 MiB
 *   lock FILE        has its first page locked
 *   unlink FILE
 *   memfd NAME       has a page of memory open, written
 *   shm              has a page of SysV shared memory mapped, written
 *   many FOLDER      has all files in it open
 *   thread FILE      a thread that does not share its open files has it open
 *   last             only another thread stays, which then cannot do more
 *   fifo FILE        has it open, and says into "opened" at the end whether others opened it
 *   chroot FOLDER
 *   leave            ends at once
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static int start, events = -1;
static volatile char used;

static void
die(const char *what)
{
	fprintf(stderr, "holder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int
need(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static char *
map(const char *file)
{
	int fd = need(open(file, O_RDONLY), file);
	char *address = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	if (address == MAP_FAILED)
		die(file);
	close(fd);
	return address;
}

static void
spread(const char *file)
{
	int fd = need(open(file, O_RDONLY), file);
	off_t size = lseek(fd, 0, SEEK_END);

	for (off_t at = 0; at < size; at += 16 << 20) {
		char *address = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, at);

		if (address == MAP_FAILED)
			die(file);
		used = *(volatile char *)address;
	}
	close(fd);
}

static void
open_all(const char *folder)
{
	DIR *files = opendir(folder);
	struct dirent *entry;

	if (!files)
		die(folder);
	while ((entry = readdir(files)))
		if (entry->d_name[0] != '.')
			need(openat(dirfd(files), entry->d_name, O_RDONLY), entry->d_name);
	closedir(files);
}

static pthread_barrier_t barrier;

static void *
run_thread(void *file)
{
	need(unshare(CLONE_FILES), "unshare");
	need(open(file, O_RDONLY), file);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

static void
start_thread(char *file)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, run_thread, file) != 0)
		die("pthread_create");
	pthread_barrier_wait(&barrier);
}

static void
share_memory(void)
{
	int id = need(shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600), "shmget");
	char *memory = shmat(id, NULL, 0);

	if (memory == (void *)-1)
		die("shmat");
	memory[0] = 1;
	need(shmctl(id, IPC_RMID, NULL), "shmctl");
}

static void
watch(const char *fifo)
{
	need(open(fifo, O_RDWR), fifo);
	events = need(inotify_init1(IN_NONBLOCK), "inotify");
	need(inotify_add_watch(events, fifo, IN_OPEN), fifo);
}

/* Says whether the FIFO was opened: equal events are one. */
static void
finish(int number)
{
	struct inotify_event event;
	int file = openat(start, "opened", O_WRONLY | O_CREAT | O_TRUNC, 0644), count = 0;

	(void)number;
	while (read(events, &event, sizeof event) > 0)
		count++;
	dprintf(file, "%d\n", count);
	_exit(0);
}

/* Makes the link "ready": a file would be one more that is open for a moment. */
static void
tell(void)
{
	need(symlinkat(".", start, "ready"), "ready");
}

/* One thing; returns how many arguments it took. */
static int
act(const char *what, char *argument)
{
	if (strcmp(what, "shm") == 0)
		return share_memory(), 0;
	if (strcmp(what, "last") == 0)
		return tell(), pthread_exit(NULL), 0;
	if (strcmp(what, "leave") == 0)
		exit(0);
	if (!argument)
		die(what);
	if (strcmp(what, "open") == 0)
		need(open(argument, O_RDONLY), argument);
	else if (strcmp(what, "map") == 0)
		map(argument);
	else if (strcmp(what, "use") == 0)
		used = *(volatile char *)map(argument);
	else if (strcmp(what, "spread") == 0)
		spread(argument);
	else if (strcmp(what, "lock") == 0)
		need(mlock(map(argument), 1), argument);
	else if (strcmp(what, "unlink") == 0)
		need(unlink(argument), argument);
	else if (strcmp(what, "memfd") == 0)
		need((int)write(need(memfd_create(argument, 0), what), "x", 1), what);
	else if (strcmp(what, "many") == 0)
		open_all(argument);
	else if (strcmp(what, "thread") == 0)
		start_thread(argument);
	else if (strcmp(what, "fifo") == 0)
		watch(argument);
	else if (strcmp(what, "chroot") == 0)
		need(chroot(argument), argument);
	else
		die(what);
	return 1;
}

int
main(int argc, char **argv)
{
	start = need(open(".", O_RDONLY | O_DIRECTORY), ".");
	for (int i = 1; i < argc; i++)
		i += act(argv[i], argv[i + 1]);
	if (events >= 0)
		signal(SIGTERM, finish);
	tell();
	for (;;)
		pause();
}
