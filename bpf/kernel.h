/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_KERNEL_H
#define HOTSET_KERNEL_H

/*
 * The few kernel structures that the programs look into, with the members they
 * use only: libbpf relocates each access to where the running kernel has it.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	long long i_size;
};

struct address_space_operations {
	void *readahead;
};

struct address_space {
	struct inode *host;
	const struct address_space_operations *a_ops;
};

#ifdef BEFORE_FOLIOS
#define folio page /* whose members lie in struct page */
#endif

struct folio {
	struct address_space *mapping;
	unsigned long index;
#ifdef BEFORE_FOLIOS
	unsigned char compound_order; /* in the second page of a compound one */
#else
	unsigned long _flags_1; /* 6.6: order of a large folio in the low byte */
#endif
};

struct folio___6_1 {
	unsigned char _folio_order;
};

struct file {
	struct address_space *f_mapping;
	long long f_pos;
	void *private_data;
};

struct pipe_inode_info {
	unsigned int head, tail, max_usage; /* in pages */
};

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_io_accounting {
	__u64 rchar, wchar; /* bytes that read and write calls have returned */
	__u64 syscr, syscw; /* read and write calls that have returned */
};

struct thread_info {
	__u32 status;
};

struct pt_regs {
	unsigned long di, si, dx, cx, r10, r8, ax, orig_ax;
};

struct mm_struct {
	struct task_struct *owner;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct bpf_iter__bpf_map_elem {
	void *key, *value;
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int flags;
	int pid, tgid;
	struct mm_struct *mm;
	struct files_struct *files;
	void *journal_info;   /* the transaction of a file system that it is in */
	void *io_uring;       /* set once the task has used io_uring */
	void *worker_private; /* of an io_uring worker: struct io_worker */
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	int ki_flags;
};

struct iov_iter {
	unsigned long count; /* bytes asked for, and not yet given */
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_pgoff; /* page of the file at vm_start */
	struct file *vm_file;
};

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff; /* page of the file that faulted */
	unsigned long address;
};

struct io_cqe {
	int res;
};

struct io_wq_work {
	int cancel_seq;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_kiocb {
	unsigned char opcode;
	struct io_cqe cqe;
	struct io_wq_work work;
};

enum pageflags {
	PG_head = 6, /* relocated: the number differs */
};

enum ___gfp_flag_bits {
	___GFP_WRITE_BIT = 12, /* 6.10: relocated too */
};

#pragma clang attribute pop

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1UL << PAGE_SHIFT)

#define HUGE_PAGE_SIZE (1UL << 21) /* PMD_SIZE */

#ifndef __TARGET_ARCH_x86
#error "registers and system call numbers are known for x86-64 only"
#endif

/* Of a function, in kprobe and kretprobe programs. */
#define ARGUMENT_1(regs) ((regs)->di)
#define ARGUMENT_2(regs) ((regs)->si)
#define ARGUMENT_3(regs) ((regs)->dx)
#define ARGUMENT_4(regs) ((regs)->cx)
#define ARGUMENT_5(regs) ((regs)->r8)
#define RESULT(regs)     ((regs)->ax)

/* include/uapi/linux/magic.h */
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#define RAMFS_MAGIC           0x858458f6
#define SQUASHFS_MAGIC        0x73717368
#define TMPFS_MAGIC           0x01021994

/* include/linux/sched.h */
#define PF_EXITING       0x00000004
#define PF_IO_WORKER     0x00000010
#define PF_USER_WORKER   0x00004000 /* 6.4: io_uring's submission thread among them */
#define PF_MEMALLOC_NOFS 0x00040000 /* 5.10 to 7.3 */
#define PF_KTHREAD       0x00200000

#define S_IFMT  0170000
#define S_IFREG 0100000

/* What the pointers of kprobe programs lead to must be copied; other programs may follow
 * theirs, which costs a tenth. */
#define FOLLOW(by_kprobe, pointer, member)                                                         \
	((by_kprobe) ? BPF_CORE_READ(pointer, member) : (pointer)->member)

/*
 * The inode of a file whose pages count, NULL of others: block devices, and what file
 * systems keep in the page cache for themselves. To be asked for once in a program:
 * for each pointer that is followed the verifier searches all of the kernel's types.
 */
static __always_inline struct inode *
find_host(bool by_kprobe, const struct address_space *mapping)
{
	struct inode *host = mapping ? FOLLOW(by_kprobe, mapping, host) : NULL;

	return host && (FOLLOW(by_kprobe, host, i_mode) & S_IFMT) == S_IFREG ? host : NULL;
}

static inline struct inode *
regular_host(const struct address_space *mapping)
{
	return find_host(false, mapping);
}

/* The order of a large folio. */
static inline unsigned
folio_order(const struct folio *folio)
{
#ifdef BEFORE_FOLIOS
	/* PAGE_SIZE tells nothing of struct page's own */
	const struct page *second = (const void *)folio + bpf_core_type_size(struct page);

	return BPF_CORE_READ(second, compound_order);
#else
	const struct folio___6_1 *old = (const void *)folio;

	if (bpf_core_field_exists(old->_folio_order))
		return BPF_CORE_READ(old, _folio_order);
	return BPF_CORE_READ(folio, _flags_1) & 0xff;
#endif
}

/* The flags word comes first in struct page on every kernel; its type does not
 * stay (memdesc_flags_t from 6.18), so it is read by place. */
static inline __u64
folio_pages(const struct folio *folio)
{
	unsigned long flags = 0;

	bpf_probe_read_kernel(&flags, sizeof flags, folio);
	if (!(flags & 1UL << bpf_core_enum_value(enum pageflags, PG_head)))
		return 1;
	return 1ULL << (folio_order(folio) & 31);
}

/* Pages of a file of SIZE bytes. */
static inline __u64
size_pages(__u64 size)
{
	return (size + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

#endif
