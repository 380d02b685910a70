// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts accesses of the page cache and which of them were the first to a filled page.
 * Programs are named by role; hooks.def says where each is attached. For kernels whose
 * page cache is made of folios (5.16 and later).
 */
#include "full.h"
#include "sweep.h"
#include "traced.h"
#include "watched.h"

char LICENSE[] SEC("license") = "GPL";
