/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REQUESTS_H
#define HOTSET_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "popular.h"
#include "source.h"
#include "status.h"

/*
 * The files that a web server was asked for, as its access log tells (accesslog.h), as a source
 * for warm: those below a root, the most requested first.
 */
struct requests {
	const char *path; /* of the log; "-": standard input */
	const char *root;
	bool follow; /* symbolic links below the root, wherever they lead */

	/* its own */
	struct list log;
	struct folder *top, *folder; /* the root; the one below it that was entered last */
	char *name;                  /* of the file at hand, with the root in front */
	size_t name_size, root_length;
	size_t entered; /* bytes of its name that are the folder */
	struct popular popular;
	uint64_t requests, others, refused, rubbish; /* lines */
	struct requests_sum {
		uint64_t files, requests;
	} missing, linked; /* not there; behind a link that is not followed */
};

extern const struct source requests_source;

/* Opens log and root; reports what fails, and returns the exit status for that. */
enum status requests_begin(struct requests *requests);

#endif
