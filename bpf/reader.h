/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_READER_H
#define HOTSET_READER_H

/* What is kept of each task between the events of one call. */
#include "ledger.h"
#ifndef BEFORE_FOLIOS
#include "request.h"
#endif

/* The figures of a task: bytes that read calls have returned, and how many have. */
struct given {
	__u64 bytes, calls;
};

/* A read or splice that has begun. */
struct reading {
	struct cache cache; /* mapping 0: none */
	struct given given; /* before it */
	__u64 began;        /* evictions before it */
	__u64 position;     /* bytes */
	__u64 call_start;   /* of the whole system call, bytes */
	__u64 first, end;   /* pages asked for */
	__u64 stalls;       /* of these, brought in by the task itself */
};

/* The task's latest one that has ended. */
struct ended {
	__u64 mapping, end; /* bytes */
	struct given given;
};

/* Arguments of a function, for its kretprobe. */
struct arguments {
	__u64 of[3];
	bool kept;
};

enum kept_call { KEPT_READ, KEPT_SPLICE, KEPT_INSERT, KEPT_PRELOAD, KEEPS };

struct reader {
	struct reading readings[2]; /* a file system may read another's file meanwhile */
	struct ended ended;
	__u64 call_start;
	struct arguments kept[KEEPS];
	bool preloads; /* it is in a preload */

	/* the fault that it is in, and whether its page was missing */
	__u64 fault_serial, fault_mapping, fault_index;
	bool fault_missed, fault_named;
#ifndef BEFORE_FOLIOS
	struct request request; /* of the tracepoint tier */
#endif
};

/* What the pointers of kprobe programs lead to must be copied; a trampoline's programs may
 * follow theirs, which costs a tenth. */
#define FOLLOW(by_kprobe, pointer, member)                                                         \
	((by_kprobe) ? BPF_CORE_READ(pointer, member) : (pointer)->member)

#ifdef BEFORE_FOLIOS

/* There is no pointer to the current task that a program may follow before 5.11. */
#define FOLLOW_TASK(task, member) BPF_CORE_READ(task, member)

static inline struct task_struct *
current_task(void)
{
	return (void *)bpf_get_current_task();
}

/* Nor have tracing programs task storage. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15); /* the default of kernel.pid_max */
	__type(key, __u64);           /* address of the task */
	__type(value, struct reader);
} readers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reader);
} fresh_reader SEC(".maps");

static inline struct reader *
reader_of_current(bool create)
{
	__u64 task = bpf_get_current_task();
	struct reader *reader = bpf_map_lookup_elem(&readers, &task), *fresh;
	__u32 zero = 0;

	if (reader || !create)
		return reader;
	fresh = bpf_map_lookup_elem(&fresh_reader, &zero);
	if (fresh)
		bpf_map_update_elem(&readers, &task, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&readers, &task);
}

static inline void
forget_current(void)
{
	__u64 task = bpf_get_current_task();

	bpf_map_delete_elem(&readers, &task);
}

/* Whose process the current task works for. io_uring's workers are kernel threads before
 * 5.12, which take on the memory of the one they read for. */
static inline __u32
current_tgid(void)
{
	struct task_struct *task = current_task();

	if (BPF_CORE_READ(task, flags) & PF_IO_WORKER)
		return BPF_CORE_READ(task, mm, owner, tgid);
	return bpf_get_current_pid_tgid() >> 32;
}

#else

#define FOLLOW_TASK(task, member) (*(volatile typeof((task)->member) *)&(task)->member)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reader);
} readers SEC(".maps");

static inline struct task_struct *
current_task(void)
{
	return (void *)bpf_get_current_task_btf();
}

static inline struct reader *
reader_of(struct task_struct *task, bool create)
{
	return bpf_task_storage_get(&readers, (void *)task, NULL,
	    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static inline struct reader *
reader_of_current(bool create)
{
	return reader_of(current_task(), create);
}

static inline __u32
current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

#endif

static inline bool
is_current_target(void)
{
	return state.has_target && is_target(current_tgid());
}

/* A task's storage, created where it has none; NULL, and counted so, where there is no
 * room for it. */
static inline struct reader *
reader_wanted(void)
{
	struct reader *reader = reader_of_current(true);

	if (!reader)
		count(UNSEEN, 1, is_current_target());
	return reader;
}

static inline void
count_accesses(const struct cache *cache, __u64 start, __u64 end, __u64 began, bool target)
{
	__u64 misses = ledger_take(cache, start, end, began);

	count(HITS, end - start - misses, target);
	count(MISSES, misses, target);
}

#endif
