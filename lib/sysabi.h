/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SYSABI_H
#define HOTSET_SYSABI_H

#include <stdint.h>
#include <sys/syscall.h>

/* What the kernel offers and the headers we build with may not know yet. */

/* cachestat(2), Linux 6.5: one number for all architectures that musl knows. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct sysabi_cachestat_range {
	uint64_t offset, length; /* length 0: up to the end, and beyond */
};

struct sysabi_cachestat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

/* statx(2), Linux 4.11: the kernel's struct, of which we use a few fields. */
struct sysabi_statx {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint64_t counts_and_mode[2];
	uint64_t inode;
	uint64_t sizes_and_times[11];
	uint32_t of_special_file[2];
	uint32_t major, minor; /* of the device that the file is on */
	uint64_t rest[14];
};
_Static_assert(sizeof(struct sysabi_statx) == 256, "as the kernel has it");

#define SYSABI_STATX_DAX    0x200000 /* attribute, Linux 5.8 */
#define SYSABI_STATX_INODE  0x100    /* asked for */
#define SYSABI_AT_DONT_SYNC 0x4000   /* flag: what the kernel knows, without asking a server */

/* ioprio_set(2), for which no C library has a function or a header. */
#define SYSABI_IOPRIO_WHO_PROCESS 1
#define SYSABI_IOPRIO_IDLE        (3 << 13) /* the class; it has no levels */

#define SYSABI_MADV_POPULATE_READ 22 /* Linux 5.14 */

#endif
