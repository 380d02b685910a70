/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * enosys SYSCALL[=ERRNO] [SYSCALL[=ERRNO]...] -- COMMAND...
 *
 * Runs COMMAND with the named system calls failing (ENOSYS unless told otherwise).
 * A seccomp filter does it, so it works on static programs too.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_RULES 16

static const struct name {
	const char *name;
	int value;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "cachestat", 451 }, /* the headers may be older */
	{ "close", SYS_close },
	{ "faccessat", SYS_faccessat },
	{ "faccessat2", SYS_faccessat2 },
	{ "fadvise64", SYS_fadvise64 },
	{ "fcntl", SYS_fcntl },
	{ "fdatasync", SYS_fdatasync },
	{ "fstat", SYS_fstat },
	{ "fstatfs", SYS_fstatfs },
	{ "fsync", SYS_fsync },
	{ "getdents64", SYS_getdents64 },
	{ "inotify_init1", SYS_inotify_init1 },
	{ "ioctl", SYS_ioctl },
	{ "ioprio_set", SYS_ioprio_set },
	{ "madvise", SYS_madvise },
	{ "memfd_create", SYS_memfd_create },
	{ "mincore", SYS_mincore },
	{ "mlock", SYS_mlock },
	{ "mlock2", SYS_mlock2 },
	{ "mmap", SYS_mmap },
	{ "openat", SYS_openat },
	{ "perf_event_open", SYS_perf_event_open },
	{ "pread64", SYS_pread64 },
	{ "preadv", SYS_preadv },
	{ "prlimit64", SYS_prlimit64 },
	{ "read", SYS_read },
	{ "readahead", SYS_readahead },
	{ "sendfile", SYS_sendfile },
	{ "statx", SYS_statx },
	{ "sync_file_range", SYS_sync_file_range },
	{ "write", SYS_write },
}, errors[] = {
	{ "E2BIG", E2BIG },
	{ "EACCES", EACCES },
	{ "EAGAIN", EAGAIN },
	{ "EINTR", EINTR },
	{ "EINVAL", EINVAL },
	{ "EIO", EIO },
	{ "EMFILE", EMFILE },
	{ "ENFILE", ENFILE },
	{ "ENOENT", ENOENT },
	{ "ENOMEM", ENOMEM },
	{ "ENOSPC", ENOSPC },
	{ "ENOSYS", ENOSYS },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EPERM", EPERM },
	{ "NONE", 0 }, /* nothing is done, and called a success */
};

static int
value_of(const struct name *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].value;
	fprintf(stderr, "enosys: %s: not a known name\n", name);
	exit(125);
}

/* Two instructions: if the number is the call's, fail with the error. */
static void
rule(struct sock_filter *at, char *text)
{
	char *equals = strchr(text, '=');
	int error = ENOSYS, call;

	if (equals) {
		*equals = '\0';
		error = value_of(errors, sizeof errors / sizeof *errors, equals + 1);
	}
	call = value_of(calls, sizeof calls / sizeof *calls, text);
	at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
	at[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA));
}

int
main(int argc, char **argv)
{
	struct sock_filter filter[2 * MAX_RULES + 2];
	struct sock_fprog program = { .filter = filter };
	unsigned short length = 0;
	int i = 1;

	filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr));
	for (; i < argc && strcmp(argv[i], "--") != 0 && i <= MAX_RULES; i++, length += 2)
		rule(&filter[length], argv[i]);
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: enosys SYSCALL[=ERRNO]... -- COMMAND...\n");
		return 125;
	}
	filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("enosys: seccomp");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "enosys: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
