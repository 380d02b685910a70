/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "look.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool
is_iterator(const struct bpf_program *program)
{
	return strncmp(bpf_program__section_name(program), "iter/", 5) == 0;
}

/* An iterator over all tasks, or over the elements of MAP where its program is for one. */
static struct bpf_link *
attach_iterator(const struct sets *sets, const struct bpf_program *program, const char *map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)sets_map(sets, map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
	    .link_info_len = sizeof info);
	bool of_map = strcmp(bpf_program__section_name(program), "iter/bpf_map_elem") == 0;

	return bpf_program__attach_iter(program, of_map ? &options : NULL);
}

static int
run_program(const struct sets *sets, const char *name)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(bpf_program__fd(sets_program(sets, name)), &options);
}

/* Runs an iterator's program over all it iterates. */
static int
iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -1;
	do
		n = read(fd, nothing, sizeof nothing);
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	close(fd);
	return n < 0 ? -1 : 0;
}

int
look_at_tasks(const struct look *look, const struct sets *sets)
{
	if (sets->hooks[0].tier == HOOK_TRACED && run_program(sets, "look_at_seats") < 0)
		return -1;
	return iterate(look->tasks);
}

int
look_over_ledger(const struct look *look, const struct sets *sets)
{
	return look->ledger ? iterate(look->ledger) : run_program(sets, "sweep");
}

int
look_begin(struct look *look, const struct sets *sets, struct reason *reason)
{
	const struct bpf_program *sweep = sets_program(sets, "sweep");

	look->tasks = attach_iterator(sets, sets_program(sets, "look"), "listed");
	if (look->tasks && is_iterator(sweep))
		look->ledger = attach_iterator(sets, sweep, "ledger");
	if (!look->tasks || (is_iterator(sweep) && !look->ledger) ||
	    look_at_tasks(look, sets) < 0) {
		reason_set(reason, "cannot look at all tasks: %s", strerror(errno));
		return -1;
	}
	return 0;
}

void
look_end(struct look *look)
{
	bpf_link__destroy(look->tasks);
	bpf_link__destroy(look->ledger);
	*look = (struct look){ 0 };
}
