/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases that differ in nothing but how much is read, from where, and by which call. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ways.h"

#define RANDOM_READS 1000

struct pattern {
	const char *name;
	size_t size;
	bool random;
};

struct way {
	const char *name;
	void (*run)(struct work *work, const struct job *job);
	bool mapped;
};

struct product {
	const struct pattern *pattern;
	const struct way *way;
	bool no_readahead, beside_writer;
};

static const struct pattern patterns[] = {
	{ "4k random", PAGE, true },
	{ "128k sequential", 32 * PAGE, false },
	{ "1m sequential", BUFFER, false },
};

static const struct way ways[] = {
	{ "pread", way_pread, false },
	{ "readv", way_readv, false },
	{ "mmap", way_mmap, true },
	{ "sendfile", way_sendfile, false },
	{ "splice", way_splice, false },
	{ "io_uring", way_uring, false },
};

static const struct {
	const char *name;
	enum state sequential, random;
} states[] = {
	{ "cold", COLD, COLD },
	{ "warm", WARM, WARM },
	{ "half", HALF, MIXED },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Beside a writer only what is half in memory: there the two meet. */
#define CASES (COUNT(patterns) * COUNT(ways) * (2 * COUNT(states) + 1))

void
make_other_warm(struct work *work)
{
	struct file *other = add_others(work, 1);
	char path[4096];

	snprintf(path, sizeof path, "%.4000s.other", work->file.path);
	file_make(other, path, (off_t)(work->pages * PAGE));
	file_set(other, WARM);
}

static void
overwrite(struct file *file, size_t page)
{
	if (pwrite(file->fd, "y", 1, (off_t)(page * PAGE)) < 0)
		_exit(1);
}

pid_t
start_writer(struct work *work)
{
	pid_t writer = fork();

	if (writer != 0)
		return writer;
	for (;;) {
		size_t page = draw((uint32_t)work->pages);

		overwrite(&work->others[0], page);
		if (file_wants(&work->file, page))
			overwrite(&work->file, page);
	}
}

void
end_writer(pid_t writer)
{
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

static void
prepare(struct work *work)
{
	const struct product *product = work->load->product;

	if (product->beside_writer)
		make_other_warm(work);
	work->map_random = product->no_readahead;
	if (product->no_readahead && posix_fadvise(work->file.fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		broken("fadvise");
}

static off_t *
draw_offsets(const struct work *work, const struct pattern *pattern, size_t *count)
{
	size_t size = (size_t)work->file.size;
	off_t *offsets;

	*count = pattern->random ? RANDOM_READS : (size + pattern->size - 1) / pattern->size;
	offsets = calloc(*count, sizeof *offsets);
	if (!offsets)
		broken("memory");
	for (size_t i = 0; i < *count; i++)
		offsets[i] = (off_t)((pattern->random ? draw((uint32_t)work->pages) : i) *
		    pattern->size);
	return offsets;
}

static void
run(struct work *work)
{
	const struct product *product = work->load->product;
	struct job job = { .size = product->pattern->size };
	off_t *offsets = draw_offsets(work, product->pattern, &job.count);
	pid_t writer = product->beside_writer ? start_writer(work) : -1;

	job.offsets = offsets;
	job.depth = product->pattern->random ? 32 : 4;
	product->way->run(work, &job);
	if (writer > 0)
		end_writer(writer);
	free(offsets);
}

static int
checks_of(const struct product *product, enum state state)
{
	int checks = EXACT;

	if (product->way->mapped) {
		checks |= product->no_readahead || state == WARM ? FAULT_MISSES : AROUND;
		return checks | FILLS | (product->beside_writer ? 0 : FAULTS);
	}
	/* of a splice nothing but the events says where it ended */
	if (product->way->run == way_splice && state != WARM)
		checks |= MOST;
	return checks | FILLS | (product->no_readahead || state == WARM ? STALLS : 0);
}

/* One more case, in *LOAD. */
static void
add(struct workload *load, const char *state_name, enum state state, const struct product *product)
{
	struct product *copy = malloc(sizeof *copy);
	char *name;

	if (!copy ||
	    asprintf(&name, "%s %s, %s%s%s", state_name, product->pattern->name, product->way->name,
		product->no_readahead ? ", no readahead" : "",
		product->beside_writer ? ", beside a writer" : "") < 0)
		broken("memory");
	*copy = *product;
	*load = (struct workload){ name, checks_of(product, state), state, prepare, run, 0, copy };
}

static void
add_states(struct workload **next, struct product product)
{
	for (size_t i = 0; i < COUNT(states); i++) {
		enum state state = product.pattern->random ? states[i].random
							   : states[i].sequential;

		product.no_readahead = product.beside_writer = false;
		add((*next)++, states[i].name, state, &product);
		product.no_readahead = true;
		add((*next)++, states[i].name, state, &product);
		product.no_readahead = false;
		product.beside_writer = true;
		if (state == HALF || state == MIXED)
			add((*next)++, states[i].name, state, &product);
	}
}

const struct workload *
product_cases(void)
{
	static struct workload cases[CASES + 1];
	struct workload *next = cases;

	for (size_t i = 0; i < COUNT(patterns) && !cases[CASES - 1].name; i++)
		for (size_t j = 0; j < COUNT(ways); j++)
			add_states(&next,
			    (struct product){ .pattern = &patterns[i], .way = &ways[j] });
	return cases;
}
