/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_count: prints how many BPF programs the kernel holds, whoever loaded them. Needs
 * CAP_SYS_ADMIN.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program with the next higher number; false where there is none, or no telling. */
static int
next(unsigned *id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.start_id = *id;
	if (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof attr) < 0)
		return 0;
	*id = attr.next_id;
	return 1;
}

int
main(void)
{
	unsigned count = 0;

	for (unsigned id = 0; next(&id);)
		count++;
	if (errno != ENOENT) { /* how the last one is told */
		perror("bpf_count");
		return 1;
	}
	printf("%u\n", count);
	return 0;
}
