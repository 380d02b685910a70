/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SETS_H
#define HOTSET_SETS_H

#include <stdbool.h>

#include <linux/types.h>

#include "hooks.h"
#include "programs.h"
#include "reason.h"
#include "shared.h"

struct bpf_object;

/*
 * The BPF programs of one tier, loaded: once, or where the kernel may put programs aside in
 * their middle more often, as sets that count for each other (see bpf/full.h, and was_seen
 * in bpf/reader.h). All share the maps of the first. A zeroed struct has none.
 */
struct sets {
	struct hooks hooks[HOOK_SETS]; /* of each: its object, and what is attached */
	struct state *state;           /* the programs' variables, NULL before they are loaded */
	unsigned ledger_size;          /* entries */

	enum programs which;
	struct settings settings; /* of the first */
};

/* Loads the programs of TIER; with TARGET also those that follow processes. -1 with the
 * REASON. */
int sets_load(struct sets *sets, enum hook_tier tier, bool target, struct reason *reason);

/* Attaches them all; -1 with the REASON. */
int sets_attach(struct sets *sets, struct reason *reason);

/* Detaches and frees everything. */
void sets_unload(struct sets *sets);

/* A program, and the descriptor of a map, of the first set. */
struct bpf_program *sets_program(const struct sets *sets, const char *name);
int sets_map(const struct sets *sets, const char *name);

#endif
