// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same for kernels before folios (5.10 to 5.15), which lack task storage for tracing,
 * atomic operations that return a value, and the tracepoints of the second tier.
 */
#define BEFORE_FOLIOS
#include "full.h"
#include "sweep.h"
#include "watched.h"

char LICENSE[] SEC("license") = "GPL";
