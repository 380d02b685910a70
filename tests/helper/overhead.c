/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hitratio costs, measured from outside (root):
 *
 * overhead events PID FILE          nanoseconds of the read program of hitratio PID and of
 *                                   an empty one at the same event, of the same reads
 * overhead programs PID READS FILE  nanoseconds a run of each program of hitratio PID that
 *                                   these reads run
 * overhead start RUNS HITRATIO...   milliseconds from start to all probes attached
 * overhead memory PID               KiB resident, and of its maps
 * overhead spent PID                nanoseconds that its programs have run, if they are
 *                                   measured, and that it has run itself
 * overhead pace RATE SECONDS FILE   reads 4 KiB RATE times a second; nanoseconds it took
 * overhead stats COMMAND...         the command, with programs being measured
 * overhead instructions READS FILE  instructions a read, where the processor counts them
 * overhead clock READS FILE         nanoseconds a read, the least of some rounds: instructions
 *                                   where a clock counts those (tests/bench/instructions)
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE   4096
#define EVENT  "mm_filemap_get_pages"
#define ROUNDS 21
#define READS  100000
#define PACES  1000 /* a second */
#define NSEC   1000000000LL
#define STRIDE 7919 /* pages; prime */

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "overhead: %s: %s\n", what, strerror(errno));
	exit(2);
}

static long long
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

/* --- reads of a file, all of it in memory */

struct file {
	int fd;
	long pages;
};

static char bytes[PAGE] __attribute__((aligned(PAGE)));

static struct file
open_file(const char *path)
{
	struct file file = { .fd = open(path, O_RDONLY) };
	struct stat status;

	if (file.fd < 0 || fstat(file.fd, &status) < 0)
		die(path);
	file.pages = status.st_size / PAGE;
	for (long i = 0; i < file.pages; i++)
		if (pread(file.fd, bytes, PAGE, i * PAGE) != PAGE)
			die(path);
	return file;
}

static void
read_at(const struct file *file, long page)
{
	if (pread(file->fd, bytes, PAGE, page % file->pages * PAGE) != PAGE)
		die("pread");
}

static void
read_on(const struct file *file, long page)
{
	if (page % file->pages == 0)
		lseek(file->fd, 0, SEEK_SET);
	if (read(file->fd, bytes, PAGE) != PAGE)
		die("read");
}

static void
read_vector(const struct file *file, long page)
{
	struct iovec vector[2] = { { bytes, PAGE / 2 }, { bytes + PAGE / 2, PAGE / 2 } };

	if (page % file->pages == 0)
		lseek(file->fd, 0, SEEK_SET);
	if (readv(file->fd, vector, 2) != PAGE)
		die("readv");
}

static void
read_far(const struct file *file, long page)
{
	read_at(file, page * STRIDE);
}

static const struct {
	const char *name;
	void (*one)(const struct file *file, long page);
} kinds[] = { { "pread", read_at }, { "pread apart", read_far }, { "read", read_on },
	{ "readv", read_vector } };
#define KINDS (sizeof kinds / sizeof *kinds)

/* --- programs */

struct cost {
	unsigned long long runs, time;
};

static struct cost
cost_of(int program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof info;

	if (bpf_obj_get_info_by_fd(program, &info, &size) < 0)
		die("program");
	return (struct cost){ info.run_cnt, info.run_time_ns };
}

/* A value of a descriptor's fdinfo, -1 where it has none. */
static long long
fdinfo_value(pid_t pid, const char *fd, const char *key)
{
	char path[300], line[200];
	long long value = -1;
	size_t length = strlen(key);
	FILE *stream;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, fd);
	stream = fopen(path, "r");
	while (stream && fgets(line, sizeof line, stream))
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			value = atoll(line + length + 1);
	if (stream)
		fclose(stream);
	return value;
}

/* Gives each descriptor of PID to CALL; the sum of what it returns. */
static long long
sum_fds(pid_t pid, long long (*call)(pid_t pid, const char *fd))
{
	char path[64];
	long long sum = 0;
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
	folder = opendir(path);
	if (!folder)
		die(path);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			sum += call(pid, entry->d_name);
	closedir(folder);
	return sum;
}

static int
program_of(pid_t pid, const char *fd)
{
	long long id = fdinfo_value(pid, fd, "prog_id");

	/* links have the number of their program too */
	return id < 0 || fdinfo_value(pid, fd, "prog_type") < 0 ||
		fdinfo_value(pid, fd, "link_id") >= 0
	    ? -1
	    : bpf_prog_get_fd_by_id((__u32)id);
}

static long long
run_time(pid_t pid, const char *fd)
{
	int program = program_of(pid, fd);
	struct cost cost = { 0 };

	if (program >= 0) {
		cost = cost_of(program);
		close(program);
	}
	return (long long)cost.time;
}

static long long
map_bytes(pid_t pid, const char *fd)
{
	return fdinfo_value(pid, fd, "map_id") < 0 ? 0 : fdinfo_value(pid, fd, "memlock");
}

static const char *sought;
static int found = -1;

static long long
seek_program(pid_t pid, const char *fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof info;
	int program = program_of(pid, fd);

	if (program < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(program, &info, &size) == 0 && strcmp(info.name, sought) == 0)
		found = program;
	else
		close(program);
	return 0;
}

static int
attach_empty(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int event = libbpf_find_vmlinux_btf_id(EVENT, BPF_TRACE_RAW_TP), program;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
	    .attach_btf_id = (__u32)event);

	if (event < 0)
		die(EVENT);
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", nothing, 2, &options);
	if (program < 0 || bpf_raw_tracepoint_open(NULL, program) < 0)
		die("an empty program");
	return program;
}

static double
ns_since(int program, struct cost before)
{
	struct cost now = cost_of(program);

	if (now.runs == before.runs)
		die("no event");
	return (double)(now.time - before.time) / (double)(now.runs - before.runs);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 2];
}

static int
events(pid_t pid, const char *path)
{
	static double empty[KINDS][ROUNDS], full[KINDS][ROUNDS], ratio[KINDS][ROUNDS];
	struct file file = open_file(path);
	int nothing;

	sought = "read_pages";
	sum_fds(pid, seek_program);
	if (found < 0) {
		puts("no read program at " EVENT " in this tier");
		return 0;
	}
	nothing = attach_empty();
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		die("statistics");
	for (size_t i = 0; i < ROUNDS * KINDS; i++) {
		size_t kind = i % KINDS, round = i / KINDS;
		struct cost before_empty = cost_of(nothing), before = cost_of(found);

		for (long page = 0; page < READS; page++)
			kinds[kind].one(&file, page);
		empty[kind][round] = ns_since(nothing, before_empty);
		full[kind][round] = ns_since(found, before);
		ratio[kind][round] = full[kind][round] / empty[kind][round];
	}
	for (size_t kind = 0; kind < KINDS; kind++) {
		double middle = median(ratio[kind], ROUNDS);

		printf("%-12s empty %6.1f ns   read_pages %6.1f ns   ratio %.2f (%.2f to %.2f)\n",
		    kinds[kind].name, median(empty[kind], ROUNDS), median(full[kind], ROUNDS),
		    middle, ratio[kind][0], ratio[kind][ROUNDS - 1]);
	}
	return 0;
}

#define PROGRAMS 64

static int programs[PROGRAMS], program_count;

static long long
keep_program(pid_t pid, const char *fd)
{
	int program = program_of(pid, fd);

	if (program >= 0 && program_count < PROGRAMS)
		programs[program_count++] = program;
	return 0;
}

static int
each_program(pid_t pid, long reads, const char *path)
{
	struct file file = open_file(path);
	struct cost before[PROGRAMS];

	sum_fds(pid, keep_program);
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		die("statistics");
	for (int i = 0; i < program_count; i++)
		before[i] = cost_of(programs[i]);
	for (long page = 0; page < reads; page++)
		read_far(&file, page);
	for (int i = 0; i < program_count; i++) {
		struct cost after = cost_of(programs[i]);
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof info;

		if (after.runs - before[i].runs < (unsigned long long)reads / 2)
			continue;
		bpf_obj_get_info_by_fd(programs[i], &info, &size);
		printf("%s %.0f  ", info.name, ns_since(programs[i], before[i]));
	}
	putchar('\n');
	return 0;
}

/* --- the process */

/* Starts it; milliseconds until it says what it has attached. */
static double
start_once(char **command)
{
	long long from = clock_ns(CLOCK_MONOTONIC), to = 0;
	char line[1000];
	FILE *stream;
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0 || (pid = fork()) < 0)
		die("start");
	if (pid == 0) {
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		execvp(command[0], command);
		_exit(127);
	}
	close(fds[1]);
	stream = fdopen(fds[0], "r");
	while (!to && fgets(line, sizeof line, stream))
		if (strstr(line, "exact: "))
			to = clock_ns(CLOCK_MONOTONIC);
	kill(pid, SIGKILL);
	fclose(stream);
	waitpid(pid, NULL, 0);
	if (!to)
		die("it attached nothing");
	return (double)(to - from) / 1e6;
}

static int
start(int runs, char **command)
{
	double *times = calloc((size_t)runs, sizeof *times);

	for (int i = 0; i < runs; i++)
		times[i] = start_once(command);
	median(times, runs);
	printf("%.0f ms (%.0f to %.0f)\n", times[runs / 2], times[0], times[runs - 1]);
	free(times);
	return 0;
}

static int
memory(pid_t pid)
{
	char path[64], line[200];
	FILE *stream;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	stream = fopen(path, "r");
	while (stream && fgets(line, sizeof line, stream))
		if (strncmp(line, "VmRSS:", 6) == 0 || strncmp(line, "VmHWM:", 6) == 0)
			printf("%.5s %lld KiB, ", line, atoll(line + 6));
	printf("maps %lld KiB\n", sum_fds(pid, map_bytes) / 1024);
	return 0;
}

static int
spent(pid_t pid)
{
	char path[64];
	long long own = 0;
	FILE *stream;

	snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
	stream = fopen(path, "r");
	if (!stream || fscanf(stream, "%lld", &own) != 1)
		die(path);
	printf("%lld %lld\n", sum_fds(pid, run_time), own);
	return 0;
}

/* --- readers */

static int
pace(long rate, long seconds, const char *path)
{
	struct file file = open_file(path);
	long long from = clock_ns(CLOCK_PROCESS_CPUTIME_ID), at = clock_ns(CLOCK_MONOTONIC);

	for (long i = 0; i < seconds * PACES; i++) {
		struct timespec until;

		for (long page = 0; page < rate / PACES; page++)
			read_far(&file, i * rate / PACES + page);
		at += NSEC / PACES;
		until = (struct timespec){ at / NSEC, at % NSEC };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	printf("%lld\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from);
	return 0;
}

static int
instructions(long reads, const char *path)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof event,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	struct file file = open_file(path);
	int counter = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
	long long before = 0, after = 0;

	if (counter < 0) {
		printf("not counted here: %s\n", strerror(errno));
		return 0;
	}
	if (read(counter, &before, sizeof before) < 0)
		die("instructions");
	for (long page = 0; page < reads; page++)
		read_far(&file, page);
	if (read(counter, &after, sizeof after) < 0)
		die("instructions");
	printf("%.0f instructions a read\n", (double)(after - before) / (double)reads);
	return 0;
}

static int
by_clock(long reads, const char *path)
{
	struct file file = open_file(path);
	double least = 0;

	for (int round = 0; round < ROUNDS; round++) {
		long long from = clock_ns(CLOCK_MONOTONIC), time;

		for (long page = 0; page < reads; page++)
			read_far(&file, page);
		time = clock_ns(CLOCK_MONOTONIC) - from;
		if (!round || (double)time < least)
			least = (double)time;
	}
	printf("%.0f\n", least / (double)reads);
	return 0;
}

static int
with_stats(char **command)
{
	/* they are measured as long as somebody has this open; the command inherits none */
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME), status;
	pid_t pid;

	if (fd < 0 || (pid = fork()) < 0)
		die("statistics");
	if (pid == 0) {
		execvp(command[0], command);
		die(command[0]);
	}
	waitpid(pid, &status, 0);
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 4 && strcmp(what, "events") == 0)
		return events(atoi(argv[2]), argv[3]);
	if (argc == 5 && strcmp(what, "programs") == 0)
		return each_program(atoi(argv[2]), atol(argv[3]), argv[4]);
	if (argc > 3 && strcmp(what, "start") == 0)
		return start(atoi(argv[2]), argv + 3);
	if (argc == 3 && strcmp(what, "memory") == 0)
		return memory(atoi(argv[2]));
	if (argc == 3 && strcmp(what, "spent") == 0)
		return spent(atoi(argv[2]));
	if (argc == 5 && strcmp(what, "pace") == 0)
		return pace(atol(argv[2]), atol(argv[3]), argv[4]);
	if (argc > 2 && strcmp(what, "stats") == 0)
		return with_stats(argv + 2);
	if (argc == 4 && strcmp(what, "instructions") == 0)
		return instructions(atol(argv[2]), argv[3]);
	if (argc == 4 && strcmp(what, "clock") == 0)
		return by_clock(atol(argv[2]), argv[3]);
	fprintf(stderr, "usage: see the head of tests/helper/overhead.c\n");
	return 2;
}
