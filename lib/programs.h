/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_PROGRAMS_H
#define HOTSET_PROGRAMS_H

/*
 * The BPF objects, which the binary carries packed: one for each way in which kernels
 * keep their page cache.
 */
struct bpf_object;

enum programs {
	PROGRAMS_FOLIOS, /* 5.16 and later */
	PROGRAMS_PAGES,  /* before */
	PROGRAMS,
};

/* Unpacks and opens an object, not yet loaded; NULL with errno. */
struct bpf_object *programs_open(enum programs which);

#endif
