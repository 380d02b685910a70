/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_READER_H
#define HOTSET_READER_H

/* What is kept of each task between the events of one call. */
#include "ledger.h"
#ifndef BEFORE_FOLIOS
#include "seat.h"
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

enum kept_call { KEPT_READ, KEPT_SPLICE, KEPT_INSERT, KEPT_PRELOAD, KEPT_MAP_HUGE, KEEPS };

struct reader {
	struct reading readings[2]; /* a file system may read another's file meanwhile */
	struct ended ended;
	__u64 call_start;
	struct arguments kept[KEEPS];
	bool preloads; /* it is in a preload */

	/* the fault that it is in, the page once it is known (mapping 0: not yet), whether
	 * that was missing, and whether another was taken for it (tracepoints only) */
	__u64 fault_serial, fault_mapping, fault_index;
	bool fault_missed, fault_guessed;
#ifndef BEFORE_FOLIOS
	struct seat seat; /* of the tracepoint tier, where another has the task's own */
#endif
};

/* By the address of its task, where that has no storage of the kernel's: not for tracing
 * programs before 5.11, nor for some of those that the kernel puts aside. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15); /* the default of kernel.pid_max */
	__type(key, __u64);
	__type(value, struct reader);
} listed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reader);
} fresh_reader SEC(".maps");

static inline struct reader *
listed_reader(__u64 task, bool create)
{
	struct reader *reader = bpf_map_lookup_elem(&listed, &task), *fresh;
	__u32 zero = 0;

	if (reader || !create)
		return reader;
	fresh = bpf_map_lookup_elem(&fresh_reader, &zero);
	if (fresh)
		bpf_map_update_elem(&listed, &task, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&listed, &task);
}

#ifdef BEFORE_FOLIOS

/* There is no pointer to the current task that a program may follow before 5.11. */
#define FOLLOW_TASK(task, member) BPF_CORE_READ(task, member)

static inline struct task_struct *
current_task(void)
{
	return (void *)bpf_get_current_task();
}

static inline struct reader *
reader_of(struct task_struct *task, bool create)
{
	return listed_reader((__u64)task, create);
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
	if (settings.listed)
		return listed_reader(address_of(task), create);
	return bpf_task_storage_get(&readers, (void *)task, NULL,
	    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static inline __u32
current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

#endif

static inline struct reader *
reader_of_current(bool create)
{
	return reader_of(current_task(), create);
}

/* The current task exits. Storage of its own the kernel frees itself. */
static inline void
forget_current(void)
{
	__u64 task = bpf_get_current_task();

	if (settings.listed)
		bpf_map_delete_elem(&listed, &task);
}

/* The kernel counts a fault when it is done (mm_account_fault), so that all events of one
 * fault, its retries too, see the same number, and the next fault another. */
static inline __u64
fault_serial(struct task_struct *task)
{
	return FOLLOW_TASK(task, min_flt) + FOLLOW_TASK(task, maj_flt) + 1;
}

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

#ifndef BEFORE_FOLIOS

/* The seat of TASK, whose own is SEAT unless another has it; NULL where there is no room. An
 * exiting task takes none, since it may have told that it leaves. */
static __noinline struct seat *
seat_wanted(struct seat *seat, struct task_struct *task, __u64 owner)
{
	struct reader *reader = reader_of(task, false);

	if (!(reader && reader->seat.owner) && !(task->flags & PF_EXITING) &&
	    __sync_val_compare_and_swap(&seat->owner, 0, owner) == 0) {
		seat_prepare(seat);
		return seat;
	}
	reader = reader_wanted();
	if (!reader)
		return NULL;
	if (!reader->seat.owner) {
		seat_prepare(&reader->seat);
		reader->seat.owner = owner;
	}
	return &reader->seat;
}

static __always_inline struct seat *
seat_of(struct task_struct *task)
{
	__u64 owner = address_of(task);
	struct seat *seat = seat_at(owner);

	return seat->owner == owner ? seat : seat_wanted(seat, task, owner);
}

enum event {
	EVENT_INSERT = 1,
	EVENT_READ,
	EVENT_URING,
	EVENT_FAULT,
	EVENT_MAP,
	EVENT_EVICT,
	EVENT_DIRTY,
	EVENT_FORK, /* of a task, with its number, from here on */
	EVENT_EXIT,
	EVENT_FREE,
};

/*
 * Where tracepoints may put a program aside (see full.h) each has several, one after the
 * other in the same task. One says which event it has seen, and the next do nothing there, so
 * that they are hardly ever put aside themselves. What the first was not shown another counts
 * in its place, and says so: the rest of what the kernel kept from the first are events that
 * nobody has seen. True: nothing is left to do at EVENT, to which INDEX belongs.
 */
static __always_inline bool
was_seen(enum event event, __u64 index)
{
	__u64 this = index << 3 | event;
	struct seat *seat;

	if (!settings.turn)
		return false;
	seat = seat_of(current_task());
	if (!seat) /* no memory for it, which is told: the next may have more luck */
		return true;
	if (settings.turn > 1) {
		if (seat->event == this) {
			if (settings.last)
				seat->event = 0;
			return true;
		}
		__sync_fetch_and_add(&state.mended, 1);
	}
	if (!settings.last)
		seat->event = this;
	return false;
}

/*
 * The same for what becomes of TASK, which may have no seat, or be leaving it: the place where
 * it would sit says so. Where two share that, at the same moment, one event too many may be
 * told as mended.
 */
static __always_inline bool
was_seen_of(enum event event, const struct task_struct *task)
{
	__u64 this = (__u64)task->pid << 4 | event;
	struct seat *place = seat_at(address_of(task));
	bool seen = settings.turn > 1 && place->task_event == this;

	if (!settings.turn)
		return false;
	if (settings.turn > 1 && !seen)
		__sync_fetch_and_add(&state.mended, 1);
	place->task_event = settings.last ? 0 : this;
	return seen;
}

/* The seat that TASK, with READER or without, has already; NULL where none. */
static inline struct seat *
seat_taken(const struct task_struct *task, struct reader *reader)
{
	__u64 owner = address_of(task);
	struct seat *seat = seat_at(owner);

	if (seat->owner == owner)
		return seat;
	return reader && reader->seat.owner ? &reader->seat : NULL;
}

/* TASK, with READER or without, exits: what it read last counts, and its seat is free. */
static inline void
seat_leave(struct task_struct *task, struct reader *reader)
{
	struct seat *seat = seat_taken(task, reader);

	if (!seat)
		return;
	seat_settle(seat, task);
	seat_tell(seat);
	seat_tell(seat); /* where a look came between, it told fewer */
	*(volatile __u64 *)&seat->owner = 0;
}

#else
/* nothing puts them aside there */
#define was_seen(event, index)   false
#define was_seen_of(event, task) false
#endif

#endif
