/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_SYSCALL_H
#define HOTSET_SYSCALL_H

/*
 * What system call the current task is in, from its saved registers. It costs a
 * few loads where it is asked, and nothing anywhere else: hooking the entry of
 * every system call would cost each of them over 100 ns.
 */
#include "sums.h"

/* 6.2, before the tracepoints of this tier. To the processor it is nothing, where the
 * helpers that copy from kernel memory are calls. */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

#define AS(type, address)                                                                          \
	((type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(type)))

/* arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl */
enum { /* 64 bit */
	NR_READ = 0,
	NR_PREAD64 = 17,
	NR_READV = 19,
	NR_MADVISE = 28,
	NR_SENDFILE = 40,
	NR_READAHEAD = 187,
	NR_FADVISE64 = 221,
	NR_SPLICE = 275,
	NR_PREADV = 295,
	NR_COPY_FILE_RANGE = 326,
	NR_PREADV2 = 327,
	NR_IO_URING_ENTER = 426,
	NR_PROCESS_MADVISE = 440,
};
enum { /* 32 bit */
	NR32_MADVISE = 219,
	NR32_READAHEAD = 225,
	NR32_FADVISE64 = 250,
	NR32_FADVISE64_64 = 272,
};

#define TS_COMPAT        0x0002 /* in a 32-bit system call */
#define MADV_WILLNEED    3
#define PREADV_NO_OFFSET (~0UL) /* preadv2: use the file's own position */
#define NO_CALL          (-1L)

#define ENOSYS 38

/* The number of the system call that the task is in, NO_CALL where it is in none: in a
 * fault or interrupt from user mode, and where it returns from a call already, whose result
 * has taken the place of the entry's -ENOSYS (io_uring goes on with its requests then). */
static inline long
call_number(const struct task_struct *task, const struct pt_regs *regs)
{
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return NO_CALL;
	return regs->ax == (unsigned long)-ENOSYS ? (int)regs->orig_ax : NO_CALL;
}

/* What the task's caller left. They lie at the same place of every stack, which depends on
 * how the kernel is built and on the processor (FRED, 6.9). */
static inline const struct pt_regs *
registers_of(const struct task_struct *task)
{
	return AS(struct pt_regs, (__u64)task->stack + state.registers);
}

/* The request that an io_uring worker carries out now, NULL where there is none. */
static inline struct io_kiocb *
worker_request(const struct task_struct *task)
{
	struct io_worker *worker = task->worker_private;
	struct io_wq_work *work = BPF_CORE_READ(worker, cur_work);

	return work ? (void *)work - bpf_core_field_offset(struct io_kiocb, work) : NULL;
}

/* Whether it is, of a worker, one that preloads: workers do these only where they are to. */
static inline bool
is_uring_preload(const struct task_struct *task)
{
	struct io_kiocb *request = worker_request(task);
	unsigned char opcode = request ? BPF_CORE_READ(request, opcode) : 0;

	return opcode == 24 /* FADVISE */ || opcode == 25 /* MADVISE */;
}

/* A preload: readahead(2), posix_fadvise(2) and MADV_WILLNEED, also by io_uring. */
static inline bool
is_preload(const struct task_struct *task)
{
	const struct pt_regs *regs = registers_of(task);
	long call = call_number(task, regs);

	if (task->flags & PF_IO_WORKER)
		return is_uring_preload(task);
	if (task->thread_info.status & TS_COMPAT)
		return call == NR32_READAHEAD || call == NR32_FADVISE64 ||
		    call == NR32_FADVISE64_64 ||
		    (call == NR32_MADVISE && regs->dx == MADV_WILLNEED);
	return call == NR_READAHEAD || call == NR_FADVISE64 ||
	    (call == NR_MADVISE && regs->dx == MADV_WILLNEED) ||
	    (call == NR_PROCESS_MADVISE && regs->r10 == MADV_WILLNEED);
}

enum call_kind {
	CALL_OTHER, /* position unknown: exec, io_submit, kernel threads, 32 bit */
	CALL_READ,
	CALL_SEND,   /* sendfile: as a read, but piece by piece through a pipe */
	CALL_SPLICE, /* one piece, through the caller's own pipe */
	CALL_URING,  /* counted where its requests complete */
};

struct call {
	enum call_kind kind;
	bool positioned; /* the next is known */
	__u64 position;  /* in the file, bytes, where the call started */
	__u64 room;      /* of a splice: pages that fit into the pipe */
};

/* The file of descriptor FD, from which the current task reads or into which it writes. It is
 * there, and a table of descriptors never shrinks; should another thread have closed it, what
 * is loaded is NULL or some other file. */
static inline struct file *
fd_file(const struct task_struct *task, unsigned long fd)
{
	__u64 slot = (__u64)(task->files->fdt->fd + (__u32)fd); /* calls look at no more */

	/* of what begins with a pointer to a file */
	return AS(struct kiocb, slot - bpf_core_field_offset(struct kiocb, ki_filp))->ki_filp;
}

/* The file position of descriptor FD, which a call changes only as it returns. */
static inline bool
file_position(const struct task_struct *task, unsigned long fd, __u64 *position)
{
	struct file *file = fd_file(task, fd);

	if (!file)
		return false;
	*position = file->f_pos;
	return true;
}

/* As file_position, but at the user's OFFSET where one is given. */
static inline bool
offset_position(const struct task_struct *task, unsigned long offset, unsigned long fd,
    __u64 *position)
{
	if (!offset)
		return file_position(task, fd, position);
	return bpf_probe_read_user(position, sizeof *position, (void *)offset) == 0;
}

/* Pages that the pipe of descriptor FD has room for. */
static inline __u64
pipe_room(const struct task_struct *task, unsigned long fd)
{
	struct file *file = fd_file(task, fd);
	struct pipe_inode_info *pipe = file ? AS(struct pipe_inode_info, file->private_data) : NULL;

	return pipe ? pipe->max_usage - (pipe->head - pipe->tail) : 0;
}

/* 6.18, include/uapi/linux/io_uring.h */
static inline bool
is_uring_read(struct io_kiocb *request)
{
	unsigned char opcode = BPF_CORE_READ(request, opcode);

	return opcode == 1 /* READV */ || opcode == 4 /* READ_FIXED */ || opcode == 22 /* READ */ ||
	    opcode == 60 /* READV_FIXED */;
}

/*
 * The position of what an io_uring worker does now, where the file it was given is not
 * the one that is read: a stacked file system (overlayfs) reads from the file below.
 */
static inline bool
stacked_position(const struct task_struct *task, const struct address_space *mapping,
    __u64 *position)
{
	/* a read's own data lies at the start of the request */
	struct kiocb *iocb = (void *)worker_request(task);

	if (!iocb || BPF_CORE_READ(iocb, ki_filp, f_mapping) == mapping)
		return false;
	*position = BPF_CORE_READ(iocb, ki_pos);
	return true;
}

/* Whether the current task is in a common read call, and from where it reads: told first and
 * apart from others, since each read of cached pages passes here. */
static __always_inline bool
plain_read(const struct task_struct *task, __u64 *position)
{
	const struct pt_regs *regs = registers_of(task);
	long number;

	if (task->thread_info.status & TS_COMPAT)
		return false;
	number = call_number(task, regs);
	if (number == NR_READ || number == NR_READV)
		return file_position(task, regs->di, position);
	*position = regs->r10;
	return number == NR_PREAD64 || number == NR_PREADV;
}

/* The call that reads pages of MAPPING now, if it is no plain read. */
static __noinline void
call_other(const struct task_struct *task, const struct address_space *mapping, struct call *call)
{
	const struct pt_regs *regs = registers_of(task);
	long number = call_number(task, regs);

	*call = (struct call){ .kind = CALL_READ };
	if (task->flags & (PF_IO_WORKER | PF_USER_WORKER)) {
		call->positioned = task->flags & PF_IO_WORKER &&
		    stacked_position(task, mapping, &call->position);
		call->kind = call->positioned ? CALL_OTHER : CALL_URING;
		return;
	}
	if (task->thread_info.status & TS_COMPAT)
		number = NO_CALL;
	switch (number) {
	case NR_READ:
	case NR_READV:
	case NR_PREAD64:
	case NR_PREADV:
		return; /* but its file is not found */
	case NR_PREADV2:
		call->positioned = true;
		call->position = regs->r10;
		if (regs->r10 == PREADV_NO_OFFSET)
			call->positioned = file_position(task, regs->di, &call->position);
		return;
	case NR_SENDFILE:
		call->kind = CALL_SEND;
		call->positioned = offset_position(task, regs->dx, regs->si, &call->position);
		return;
	case NR_SPLICE:
	case NR_COPY_FILE_RANGE:
		call->kind = number == NR_SPLICE ? CALL_SPLICE : CALL_SEND;
		call->room = number == NR_SPLICE ? pipe_room(task, regs->dx) : 0;
		call->positioned = offset_position(task, regs->si, regs->di, &call->position);
		return;
	case NR_IO_URING_ENTER:
		call->kind = CALL_URING;
		return;
	}
	/*
	 * A request that io_uring had to postpone goes on as the task returns from
	 * any call. Other tasks' reads here are the kernel's own.
	 */
	call->kind = task->io_uring ? CALL_URING : CALL_OTHER;
}

/* Whether the current task is in a read call: what it inserts then is a fill, also
 * where the kernel's readahead found no memory and the read went on without it. */
static inline bool
is_reading(const struct task_struct *task, const struct address_space *mapping)
{
	struct io_kiocb *request;
	struct call call;
	__u64 position;

	if (task->flags & PF_IO_WORKER) {
		request = worker_request(task);
		return request && is_uring_read(request);
	}
	if (plain_read(task, &position))
		return true;
	call_other(task, mapping, &call);
	return call.kind == CALL_READ;
}

#endif
