/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysctl.h"
#include "tap.h"

#define FOLDERS 20
#define AT_ONCE (1 << 20) /* bytes of events that notice_read tells of, at most */
#define LARGE   272       /* bytes of an event with a name of LENGTH */
#define LENGTH  250

static struct notice notice;
static int a, b;        /* watches */
static char told[1024]; /* each event: its folder, and the name */
static int changed, lost;

static void
happened(enum notice_what what, int watch, const char *name, void *argument)
{
	char *text = argument;
	size_t length = strlen(text);

	changed += what == NOTICE_CHANGED;
	lost += what == NOTICE_LOST;
	if (length < sizeof told - 64)
		snprintf(text + length, sizeof told - length, "%s%s/%.16s", length ? " " : "",
		    watch == a        ? "a"
			: watch == b  ? "b"
			: watch == -1 ? "none"
				      : "other",
		    what == NOTICE_GONE       ? "gone"
			: what == NOTICE_LOST ? "lost"
					      : name);
}

/* What has happened since the last time, as far as it is told at once. */
static const char *
heard(void)
{
	*told = '\0';
	changed = lost = 0;
	notice_read(&notice, happened, told);
	return told;
}

static bool
is_readable(void)
{
	return poll(&(struct pollfd){ .fd = notice.fd, .events = POLLIN }, 1, 0) == 1;
}

/* Two folders, a and b, both watched. */
static void
begin(void)
{
	notice_begin(&notice);
	if (notice.fd < 0 || mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0)
		exit(99);
	a = notice_watch(&notice, "a");
	b = notice_watch(&notice, "b");
}

static void
end(void)
{
	notice_end(&notice);
	if (system("rm -rf a b moved many*") != 0)
		exit(99);
}

static int
make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		exit(99);
	return fd;
}

static void
put(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(99);
}

static void
names(void)
{
	char byte;
	int fd;

	begin();
	ok(a >= 0 && b >= 0 && a != b, "two folders are watched");
	is(heard(), "", "nothing has happened yet");
	close(make("a/new"));
	close(make("b/new"));
	ok(is_readable(), "something has");
	is(heard(), "a/new b/new", "new files, in their order");
	is(heard(), "", "each is told once");
	fd = make("a/new");
	put(fd);
	is(heard(), "a/new", "written to");
	ok(pread(fd, &byte, 1, 0) == 1 && fchmod(fd, 0400) == 0, "read, and its mode changed");
	ok(!is_readable(), "nobody is woken: nothing of what is in memory has changed");
	rename("a/new", "b/other");
	is(heard(), "a/new b/other", "renamed: both names");
	unlink("b/other");
	is(heard(), "b/other", "deleted");
	put(fd);
	is(heard(), "", "what has no name any more is of no interest");
	close(fd);
	mkdir("a/folder", 0700);
	is(heard(), "a/folder", "a folder is a name as well");
	end();
}

static void
gone(void)
{
	char full[64];

	begin();
	rename("a", "moved");
	rmdir("b");
	is(heard(), "a/gone b/gone", "a folder is renamed, another one deleted");
	mkdir("a", 0700);
	close(make("a/new"));
	is(heard(), "", "another one by that name is not watched");
	close(make("moved/new"));
	is(heard(), "a/new", "the old one is, until that ends");
	snprintf(full, sizeof full, "%s/moved", getcwd((char[32]){ "" }, 32));
	ok(notice_watch(&notice, "moved") == a && notice_watch(&notice, full) == a,
	    "all its names have one watch");
	notice_unwatch(&notice, a);
	close(make("moved/newer"));
	is(heard(), "", "which ends for all");
	end();
}

/* What was told of a folder must not be taken for another one's. */
static void
numbers(void)
{
	int first, second;

	begin();
	first = a;
	close(make("a/old"));
	notice_unwatch(&notice, a);
	a = notice_watch(&notice, "a");
	ok(a > b && a != first, "a folder that is watched again has another number");
	close(make("a/new"));
	is(heard(), "other/old a/new", "the old one tells what happened before");
	second = a;
	rmdir("b");
	mkdir("b", 0700);
	b = notice_watch(&notice, "b");
	ok(b > second, "so has another folder of the same name");
	end();
}

static void
limits(void)
{
	begin();
	notice.most = 3;
	mkdir("many", 0700);
	mkdir("many2", 0700);
	ok(notice_watch(&notice, "a") == a && notice_watch(&notice, "./a") == a,
	    "one that is watched takes no more room");
	ok(notice_watch(&notice, "many") > b, "there is room for one more");
	errno = 0;
	ok(notice_watch(&notice, "many2") == -1 && errno == ENOSPC, "not for two");
	notice_unwatch(&notice, a);
	heard();
	ok(notice_watch(&notice, "many2") > b, "unless another one is watched no more");
	rmdir("b");
	heard();
	notice_unwatch(&notice, b);
	ok(notice_watch(&notice, "a") > b, "or is gone");
	end();
}

static void
failures(void)
{
	begin();
	close(make("a/file"));
	errno = 0;
	ok(notice_watch(&notice, "missing") == -1 && errno == ENOENT, "no such folder");
	errno = 0;
	ok(notice_watch(&notice, "a/file") == -1 && errno == ENOTDIR, "it is a file");
	is(heard(), "a/file", "neither disturbs what is watched");
	notice_end(&notice);
	ok(notice.fd == -1, "the end");
	errno = 0;
	ok(notice_watch(&notice, "a") == -1 && errno == ENOSYS, "where there is no inotify");
	is(heard(), "", "nothing is heard");
	end();
}

/* Writes to two files of a by turns, COUNT times in all: one after the other the same event would
 * be told once. */
static void
write_by_turns(int count, size_t length)
{
	char paths[2][300] = { "a/", "a/" };
	int fds[2];

	memset(paths[0] + 2, '1', length);
	memset(paths[1] + 2, '2', length);
	for (int i = 0; i < 2; i++)
		fds[i] = make(paths[i]);
	for (int i = 0; i < count; i++)
		put(fds[i % 2]);
	for (int i = 0; i < 2; i++)
		close(fds[i]);
}

static void
much(void)
{
	int sum, times = 1, count = 2 * AT_ONCE / LARGE;

	begin();
	heard();
	write_by_turns(count, LENGTH);
	heard();
	ok(changed > AT_ONCE / LARGE / 2 && changed <= AT_ONCE / LARGE,
	    "much happens: some is told, and the rest waits");
	ok(is_readable(), "which can be seen");
	for (sum = changed; *heard(); sum += changed)
		times++;
	ok(sum == count + 2 && lost == 0, "all is told in the end"); /* and two that are new */
	ok(times == 3, "in as many goes as it takes");
	end();
}

/* Lets more happen than the kernel keeps for us. */
static void
overflow(void)
{
	write_by_turns((int)sysctl_number("fs/inotify/max_queued_events", 16384) + 100, 1);
}

/* Watches FOLDERS that are new; returns how many could be. */
static int
watch_many(int watches[FOLDERS])
{
	char name[16];
	int count = 0;

	for (int i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof name, "many%d", i);
		mkdir(name, 0700);
		watches[i] = notice_watch(&notice, name);
		count += watches[i] > b;
	}
	return count;
}

static void
too_much(void)
{
	int watches[FOLDERS], losses = 0, changes = 0;

	begin();
	overflow();
	while (*heard()) {
		losses += lost;
		changes += changed;
	}
	ok(losses == 1 && changes > 100, "too much happens: it is said that some is lost, once");
	close(make("b/new"));
	is(heard(), "b/new", "then all is told again");
	notice.most = FOLDERS + 2;
	ok(watch_many(watches) == FOLDERS, "as many watches as there may be");
	overflow();
	if (system("rmdir many*") != 0)
		exit(99);
	while (*heard())
		;
	for (int i = 0; i < FOLDERS; i++)
		notice_unwatch(&notice, watches[i]);
	ok(watch_many(watches) == FOLDERS, "they end, and nobody hears of it: there is room again");
	end();
}

int
main(void)
{
	char folder[] = "/tmp/notice.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	names();
	gone();
	numbers();
	limits();
	failures();
	much();
	too_much();
	if (chdir("/") < 0 || rmdir(folder) < 0)
		return 1;
	return tap_done();
}
