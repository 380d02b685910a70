/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "queue.h"

#include <stdlib.h>

#include "tap.h"

static struct roster roster;
static struct queue queue;
static uint32_t folder, other;

static void
begin(void)
{
	roster_begin(&roster);
	folder = roster_folder(&roster, "folder", 6, true);
	other = roster_folder(&roster, "other", 5, true);
}

static void
end(void)
{
	queue_free(&queue);
	roster_free(&roster);
}

static bool
put(uint32_t in, const char *name)
{
	return queue_add(&queue, &roster, in, name);
}

static uint32_t
know(uint32_t in, const char *name)
{
	return roster_add(&roster, in, name, 0, 1, 2);
}

/* All that waits, as "folder:name" in their order; the queue is empty then. */
static const char *
drain(void)
{
	static char text[512];
	uint32_t in;
	char *name;

	*text = '\0';
	while ((name = queue_next(&queue, &roster, &in))) {
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s:%s",
		    *text ? " " : "", in == folder ? "folder" : "other", name);
		free(name);
	}
	return text;
}

static void
drop_next(void)
{
	uint32_t in;

	free(queue_next(&queue, &roster, &in));
}

static void
order(void)
{
	begin();
	ok(queue_is_empty(&queue), "nothing waits at first");
	is(drain(), "", "so nothing comes");
	put(folder, "c");
	put(other, "a");
	put(folder, "b");
	ok(!queue_is_empty(&queue), "some wait");
	is(drain(), "folder:c other:a folder:b", "in the order in which they became known");
	ok(queue_is_empty(&queue), "then none does");
	end();
}

static void
duplicates(void)
{
	uint32_t number;

	begin();
	number = know(folder, "known");
	ok(put(folder, "known") && put(folder, "b") && put(folder, "known"),
	    "one that waits already is no failure");
	ok(roster.files[number].dirty, "it is marked as long as it waits");
	is(drain(), "folder:known folder:b", "a file of the roster comes once");
	ok(!roster.files[number].dirty, "and is marked no more");
	put(folder, "known");
	is(drain(), "folder:known", "then it may wait again");
	put(folder, "new");
	put(folder, "new");
	put(other, "new");
	put(other, "known");
	is(drain(), "folder:new other:new other:known",
	    "one that is written to again and again comes once; names are of their folder");
	put(folder, "new");
	drop_next();
	put(folder, "new");
	is(drain(), "folder:new", "what has come is not what came last");
	end();
}

/* The roster changes while names wait. */
static void
changes(void)
{
	uint32_t number, again;

	begin();
	put(folder, "late");
	number = know(folder, "late");
	put(folder, "b");
	put(folder, "late");
	drop_next();
	ok(!roster.files[number].dirty, "one that became known meanwhile may be told again");
	is(drain(), "folder:b folder:late", "rather than be missed");
	number = know(folder, "gone");
	put(folder, "gone");
	roster_remove(&roster, number);
	put(folder, "b");
	is(drain(), "folder:gone folder:b", "one that the roster has no more comes as well");
	number = know(other, "gone");
	put(other, "gone");
	roster_remove(&roster, number);
	roster_remove_folder(&roster, other);
	again = roster_folder(&roster, "another", 7, true);
	number = know(again, "gone");
	ok(again == other, "the number of a folder that is gone is another one's");
	put(again, "b");
	is(drain(), "other:gone other:b", "whose files it is taken for");
	ok(!roster.files[number].dirty, "and none of them is marked for ever");
	end();
}

/* The number that NAME is, as write_number wrote it. */
static void
write_number(char name[16], int number)
{
	snprintf(name, 16, "%d", number);
}

static bool
next_is(int number)
{
	char wanted[16], *name;
	uint32_t in;
	bool same;

	write_number(wanted, number);
	name = queue_next(&queue, &roster, &in);
	same = name && strcmp(name, wanted) == 0 && in == folder;
	free(name);
	return same;
}

static bool
put_number(int number)
{
	char name[16];

	write_number(name, number);
	return put(folder, name);
}

/* How many numbers, from FIRST on, come one after the other. */
static int
count_from(int first)
{
	int count = 0;

	while (next_is(first + count))
		count++;
	return count;
}

static void
limits(void)
{
	int taken = 0;
	uint32_t number;

	begin();
	number = know(folder, "known");
	while (put_number(taken))
		taken++;
	ok(taken == QUEUE_MOST, "so many may wait, and no more");
	ok(!put(folder, "known") && !roster.files[number].dirty,
	    "one that cannot is not marked as if it did");
	ok(put_number(taken - 1), "one that waits still does");
	ok(next_is(0) && put(folder, "known") && !put(other, "b"),
	    "for each that comes there is room for another");
	ok(roster.files[number].dirty, "which is marked");
	ok(count_from(1) == taken - 1, "all come in their order");
	ok(queue_is_empty(&queue), "and that one at last");
	end();
}

/* A few wait all the time, and many come: they move to the front again and again. */
static void
steady(void)
{
	bool right = true;
	int last = 0;

	begin();
	while (last < 50)
		put_number(last++);
	for (int i = 0; i < 10000; i++) {
		right &= next_is(i);
		put_number(last++);
	}
	ok(right, "many come, a few wait: all in their order");
	ok(queue.size <= 256, "there is no more room than for a few");
	ok(count_from(10000) == 50, "which come at last");
	end();
	ok(queue_is_empty(&queue) && put(folder, "b"), "one that was freed is as new");
	queue_free(&queue);
}

int
main(void)
{
	order();
	duplicates();
	changes();
	limits();
	steady();
	return tap_done();
}
