// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same for kernels before folios (5.10 to 5.15). The first of them lacks task storage for
 * tracing and atomic operations that return a value, all of them the tracepoints of the
 * tracepoint tier.
 */
#define BEFORE_FOLIOS
#include "full.h"
#include "sweep.h"
#include "watched.h"

char LICENSE[] SEC("license") = "GPL";
