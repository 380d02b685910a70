/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_BITS_H
#define HOTSET_BITS_H

#include "kernel.h"

#define GROUP_SHIFT 6
#define GROUP_PAGES (1 << GROUP_SHIFT)

/* How many of BITS are set. */
__noinline __u64
count_bits(__u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return bits * 0x0101010101010101ULL >> 56;
}

#endif
